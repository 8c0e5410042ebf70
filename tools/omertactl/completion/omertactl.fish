# SPDX-License-Identifier: GPL-2.0
# fish completion of omertactl(8). The tool itself knows its words and the names of things.

function __omertactl_words
    set -l before (commandline -opc)[2..]
    set -l cur (commandline -ct)

    while string match -q -- '-*' $before[1]
        set -e before[1]
    end
    for word in (omertactl __complete $before 2>/dev/null)
        switch $word
            case DEV PEER
                omertactl __names $word $before[3] 2>/dev/null
            case CONF
                if string match -q '*/*' -- $cur
                    __fish_complete_path $cur
                else
                    omertactl __names CONF 2>/dev/null
                end
            case FILE
                __fish_complete_path $cur
            case @FILE
                for file in (__fish_complete_path (string sub -s 2 -- $cur))
                    echo @$file
                end
            case '*'
                echo $word
        end
    end
end

complete -c omertactl -f -a '(__omertactl_words)'
complete -c omertactl -n __fish_is_first_arg -s j -l json -d 'Print JSON'
complete -c omertactl -n __fish_is_first_arg -s h -l help -d 'List all commands'
complete -c omertactl -n __fish_is_first_arg -s V -l version -d 'Print the version'
