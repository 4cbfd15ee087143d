# SPDX-License-Identifier: Apache-2.0
# fish completion for bawn; the answers come from `bawn __complete`
function __bawn_answers
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$typed" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$typed"
            case :folders
                __fish_complete_directories "$typed"
            case '*'
                echo $line
        end
    end
end
complete -c bawn -f -a '(__bawn_answers)'
complete -c sbx -f -a '(__bawn_answers)'
