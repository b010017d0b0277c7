package tree

import (
	"fmt"

	"github.com/spf13/cobra"
)

// bashAlone defines what cobra's script takes from the package bash-completion, which many machines
// lack: the words up to the cursor, after joining those that bash splits at = and :.
const bashAlone = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
_get_comp_words_by_ref() {
    local line=${COMP_LINE:0:COMP_POINT} rest word i
    words=() cword=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:space:]]*}"} word=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || word=$rest
        if ((cword >= 0)) && [[ $rest == "$line" ]]; then
            words[cword]+=$word
        else
            words[++cword]=$word
        fi
        line=${rest#"$word"}
    done
    cur=${words[cword]} prev=
    ((cword == 0)) || prev=${words[cword - 1]}
}
fi

`

// zshAlone starts the completion of zsh where the user's settings do not.
const zshAlone = `#compdef det-deploy
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }

`

// finishShells makes the scripts of completion work in shells without any settings.
func finishShells(root *cobra.Command) {
	for name, shell := range map[string]struct{ before, long, example string }{
		"bash": {bashAlone, `Print the completion script for bash. The package bash-completion is used if it is
loaded, but not needed.`, `  source <(det-deploy completion bash)
  echo 'source <(det-deploy completion bash)' >>~/.bashrc`},
		"zsh": {zshAlone, "Print the completion script for zsh.", `  source <(det-deploy completion zsh)
  echo 'source <(det-deploy completion zsh)' >>~/.zshrc`},
		"fish": {"", "Print the completion script for fish.", `  det-deploy completion fish | source
  det-deploy completion fish >~/.config/fish/completions/det-deploy.fish`},
		"powershell": {"", "Print the completion script for PowerShell.", `  det-deploy completion powershell | Out-String | Invoke-Expression`},
	} {
		c, _, err := root.Find([]string{"completion", name})
		if err != nil {
			continue // cobra has no script for it
		}
		c.Short, c.Long, c.Example = "Print the script for "+name, shell.long, shell.example
		script := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			if _, err := fmt.Fprint(c.OutOrStdout(), shell.before); err != nil {
				return fmt.Errorf("cannot print the script: %w", err)
			}
			return script(c, args)
		}
	}
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Short = "Print the completion script of a shell"
		c.Long = "Print the script that completes commands, flags and names of objects in a shell."
		c.Example = "  source <(det-deploy completion bash)"
	}
}
