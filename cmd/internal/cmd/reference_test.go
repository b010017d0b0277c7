package cmd_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cmd"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/test/golden"
)

// reference is the directory of the generated pages.
const reference = "../../../docs/reference"

// TestCommandReferenceIsFresh compares the index of the commands and one page for each noun. Hidden
// commands have no page.
func TestCommandReferenceIsFresh(t *testing.T) {
	t.Parallel()
	all := tree(t)
	root, pages := all[0], map[string]*strings.Builder{}
	for _, c := range all[1:] {
		if isHidden(c) {
			continue
		}
		noun := strings.Fields(c.CommandPath())[1]
		if pages[noun] == nil {
			pages[noun] = new(strings.Builder)
			fmt.Fprintf(pages[noun], "# %s\n\n%s\n\n", c.CommandPath(), generatedCommands)
		} else {
			fmt.Fprintf(pages[noun], "\n## %s\n\n", c.CommandPath())
		}
		page(pages[noun], c)
	}
	golden.Compare(t, filepath.Join(reference, "commands.md"), commandIndex(root))
	for noun, b := range pages {
		golden.Compare(t, filepath.Join(reference, "commands", noun+".md"), b.String())
	}
	files, err := filepath.Glob(filepath.Join(reference, "commands", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if pages[strings.TrimSuffix(filepath.Base(f), ".md")] == nil {
			t.Errorf("%s is the page of no command; remove it", f)
		}
	}
}

const generatedCommands = "Generated from the commands themselves; `make golden` rewrites it."

func commandIndex(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Commands\n\n%s\n\n%s\n\n| command | |\n|---|---|\n", generatedCommands, root.Long)
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help", "completion":
		default:
			if !c.Hidden {
				fmt.Fprintf(&b, "| [`%s`](commands/%s.md) | %s |\n", c.CommandPath(), c.Name(), c.Short)
			}
		}
	}
	b.WriteString("\nCompletion by the shell: see [the command line](../command-line.md#completion).\n")
	return b.String()
}

// isHidden reports whether c or the command it belongs to is hidden.
func isHidden(c *cobra.Command) bool {
	return c != nil && (c.Hidden || isHidden(c.Parent()))
}

// page writes the output of `--help` for one command.
func page(b *strings.Builder, c *cobra.Command) {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(text + "\n")
	if !c.HasSubCommands() {
		fmt.Fprintf(b, "\n```\n%s\n```\n", c.UseLine())
	}
	fmt.Fprintf(b, "\n```sh\n%s\n```\n", dedent(c.Example))
	if c.HasSubCommands() {
		b.WriteString("\n")
		for _, sub := range c.Commands() {
			if sub.Name() != "help" && !sub.Hidden {
				fmt.Fprintf(b, "- `%s`: %s\n", sub.CommandPath(), sub.Short)
			}
		}
		return
	}
	rows := 0
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		if rows++; rows == 1 {
			b.WriteString("\n| flag | |\n|---|---|\n")
		}
		b.WriteString(flagRow(f))
	})
}

func flagRow(f *pflag.Flag) string {
	name, text := pflag.UnquoteUsage(f)
	spelled := "`--" + f.Name + "`"
	if f.Shorthand != "" {
		spelled = "`-" + f.Shorthand + "`, " + spelled
	}
	if name != "" {
		spelled += " " + strings.ReplaceAll(name, "|", `\|`)
	}
	switch f.DefValue {
	case "", "false", "0", "[]", "0s":
	default:
		text += " (default `" + f.DefValue + "`)"
	}
	return fmt.Sprintf("| %s | %s |\n", spelled, strings.ReplaceAll(text, "|", `\|`))
}

func dedent(example string) string {
	lines := strings.Split(example, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func TestExitCodeReferenceIsFresh(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Exit codes\n\nGenerated from `cmd/internal/exit`; `make golden` rewrites it.\n\n| code | `kind` in JSON | meaning |\n|--:|---|---|\n")
	codes := exit.Rules()
	for code := exit.Done; code <= exit.Canceled; code++ {
		for _, r := range codes {
			if r.Code == code {
				fmt.Fprintf(&b, "| %d | `%s` | %s |\n", r.Code, r.Name, r.Means)
			}
		}
	}
	b.WriteString(`
` + "`det-deploy task run`" + ` ends with the code of the task's program. When there is none, because
det-deploy or the cluster went wrong, it ends with 125; after Ctrl-C, which kills the task, with 130.

` + "`status`" + ` of a cluster that is degraded, or of which only kept data is there, ends with 1 after
its answer. A value of a flag that breaks a rule is 2, and 125 with ` + "`task run`" + `, where only a flag that
does not exist, or whose value has another type, is 2. The same value in a document is 1.

An error is printed once, on stderr: what happened, to what, and on a second line what to try. With
` + "`--output json`" + ` it is one object on one line:

` + "```json" + `
{"schema":"det-deploy.error/v1","error":"…","hint":"…","kind":"usage","exit_code":2}
` + "```" + `
`)
	golden.Compare(t, filepath.Join(reference, "exit-codes.md"), b.String())
}

// TestHelpOfTheProgram compares the help of the root command.
func TestHelpOfTheProgram(t *testing.T) {
	t.Parallel()
	s, out, _ := term.Test("", false)
	root := cmd.New(s)
	root.SetArgs([]string{})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "help.golden"), out.String())
}
