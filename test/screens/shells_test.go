package screens_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/terminal"
)

// completion is a line and the offers of a shell after TAB.
type completion struct {
	line string
	// offers are words that are offered, or completed in the line if there is one.
	offers []string
}

// completions are typed in each shell. Names of files are offered for none of them.
func completions() []completion {
	words := strings.Fields
	return []completion{
		{"det-deploy tas", words("task")},
		{"det-deploy task ", words("describe kill list logs run wait")},
		{"det-deploy task kill ", words("sleeper waiter")},
		{"det-deploy task logs slee", words("sleeper")},
		{"det-deploy task describe ", words("sleeper done")},
		{"det-deploy task wait ", words("sleeper done")},
		{"det-deploy task run --after do", words("done")},
		{"det-deploy task run --pool ", words("default")},
		{"det-deploy task run --pool=def", words("default")},
		{"det-deploy job update ", words("sleeper waiter")},
		{"det-deploy job update --ahead-of ", words("sleeper waiter")},
		{"det-deploy experiment describe ", words("first second")},
		{"det-deploy trial list ", words("first second")},
		{"det-deploy agent disable ", words("gpu-1")},
		{"det-deploy task logs --agent gp", words("gpu-1")},
		{"det-deploy user edit ", words("admin ada determined")},
		{"det-deploy task list --user ad", words("admin ada")},
		{"det-deploy audit --user ad", words("admin ada")},
		{"det-deploy pool describe def", words("default")},
		{"det-deploy workspace describe res", words("research")},
		{"det-deploy project describe ", words("vision")},
		{"det-deploy template describe ba", words("basics")},
		{"det-deploy model describe mn", words("mnist")},
		{"det-deploy model list --workspace ", words("research Uncategorized")},
		{"det-deploy context use ", words("lab")},
		{"det-deploy task list --master ", words("lab")},
		{"det-deploy status --cluster-id ", words("nearby")},
		{"det-deploy status --platform ", words("aws gcp k8s local")},
		{"det-deploy task list --output ", words("csv json name text wide yaml")},
		{"det-deploy task list -o ", words("csv json name text wide yaml")},
		{"det-deploy task list --output=y", words("yaml")},
		{"det-deploy task list --state ", words("queued running succeeded failed")},
		{"det-deploy task list --sort-by ", words("name state age")},
		{"det-deploy task wait --for ", words("ended running succeeded")},
		{"det-deploy task logs --level ", words("debug info warning error critical")},
		{"det-deploy task logs --stream ", words("std")},
		{"det-deploy checkpoint list --state ", words("active completed deleted")},
		{"det-deploy resources usage --by ", words("experiment project workspace user pool")},
		{"det-deploy completion ", words("bash zsh fish")},
		{"det-deploy task kill nothing-like-it", nil},
		{"det-deploy task run --name ", nil},
		{"det-deploy task list ", nil},
		{"det-deploy user create ", nil},
		{"det-deploy version ", nil},
		{"det-deploy task kill --master http://127.0.0.1:1 ", nil},
	}
}

// shell is a shell with its settings, without those of any user.
type shell struct {
	argv []string
	// setup makes it print every list of completions above the next prompt.
	setup string
}

func shells() map[string]shell {
	return map[string]shell{
		"bash": {[]string{"bash", "--norc", "--noprofile", "-i"}, `PS1='$ '; bind 'set show-all-if-ambiguous on' 'set page-completions off' 'set completion-query-items 0' 'set bell-style none' 'set enable-bracketed-paste off'`},
		"zsh":  {[]string{"zsh", "-f", "-i"}, `PS1='$ '; unsetopt always_last_prompt list_ambiguous prompt_sp beep; LISTMAX=1000`},
	}
}

func TestShellsComplete(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.furnish()
	for name, s := range shells() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installed.Program(t, name)
			k := p.enter(t, name, s)
			for _, c := range completions() {
				k.completes(t, c)
			}
			k.completesFile(t)
			k.leave(t)
		})
	}
}

// fish prints its offers, which are easier to read than its screen.
func TestFishCompletes(t *testing.T) {
	t.Parallel()
	installed.Program(t, "fish")
	p := newPerson(t)
	p.furnish()
	const script = "det-deploy completion fish | source\n"
	for _, c := range completions() {
		var problem string
		for range attempts {
			out, err := p.command("fish", "--no-config", "-c", script+"complete -C $argv[1]", c.line).CombinedOutput()
			if problem = c.problem(string(out), ""); err == nil && problem == "" {
				break
			}
		}
		if problem != "" {
			t.Errorf("%q: %s", c.line, problem)
		}
	}
	k := &keyboard{Terminal: terminal.Open(t, 100, 60), program: p.command("fish", "--no-config", "-C", script)}
	k.Start(k.program)
	k.Type("det-deploy agent disable g\t")
	k.Await(has("det-deploy agent disable gpu-1"))
	k.leave(t)
}

// keyboard is a shell that waits for a line.
type keyboard struct {
	*terminal.Terminal
	program *exec.Cmd
	// lines is the number of lines that were typed.
	lines int
}

func (p *person) enter(t *testing.T, name string, s shell) *keyboard {
	t.Helper()
	k := &keyboard{Terminal: terminal.Open(t, 100, 60), program: p.command(s.argv[0], s.argv[1:]...)}
	k.Start(k.program)
	k.Type(s.setup + "\rsource <(det-deploy completion " + name + "); clear; echo re''ady\r")
	k.Await(ends("ready\n$"))
	return k
}

// press types a line and TAB, and returns the list above the line and the line.
func (k *keyboard) press(text string) (list, line string) {
	k.lines++
	ready, end := fmt.Sprintf("ready-%d\n$", k.lines), fmt.Sprintf("#END-%d", k.lines)
	k.Type(fmt.Sprintf("\x15clear; echo re''ady-%d\r", k.lines))
	k.Await(ends(ready))
	k.Type(text + "\t" + end) // what follows TAB is echoed when the shell has completed
	k.Await(ends(end))
	_, screen, _ := strings.Cut(k.Screen(), strings.TrimSuffix(ready, "$"))
	at := strings.LastIndex("\n"+screen, "\n$ ")
	return strings.TrimPrefix(screen[:at], "$ "+text), strings.TrimSuffix(screen[at:], end+"\n")
}

// attempts limits how often a completion is asked for: on a busy machine the master may answer too
// late for the shell.
const attempts = 50

func (k *keyboard) completes(t *testing.T, c completion) {
	t.Helper()
	var list, line, problem string
	for range attempts {
		list, line = k.press(c.line)
		if problem = c.problem(list, strings.TrimPrefix(line, "$ "+c.line)); problem == "" {
			return
		}
	}
	t.Errorf("%q: %s:\n%s\n%s", c.line, problem, list, line)
}

// problem returns the fault of a list of completions and with the text that was added to the line, or "".
func (c completion) problem(list, added string) string {
	if strings.Contains(list+added, "decoy") {
		return "names of files are offered"
	}
	if len(c.offers) == 0 && strings.TrimSpace(list+added) != "" {
		return "something is offered"
	}
	if len(c.offers) == 1 && added != "" {
		list = c.line + added // the line was completed
	}
	for _, word := range c.offers {
		if !strings.Contains(list, word) {
			return word + " is not offered"
		}
	}
	return ""
}

// completesFile checks that a file is offered where one is meant.
func (k *keyboard) completesFile(t *testing.T) {
	t.Helper()
	for _, line := range []string{"det-deploy task run --config dec", "det-deploy experiment create dec", "det-deploy task run -- cat dec"} {
		if list, last := k.press(line); !strings.Contains(last, "decoy-") {
			t.Errorf("%q: no file is offered:\n%s\n%s", line, list, last)
		}
	}
}

func (k *keyboard) leave(t *testing.T) {
	t.Helper()
	k.Type("\x15exit 0\r")
	if err := k.End(k.program); err != nil {
		t.Error(err)
	}
}

// furnish makes one object of each kind.
func (p *person) furnish() {
	p.t.Helper()
	c := p.c
	c.Run("task", "run", "--name", "done", "--slots", "0", "--", "true")
	c.Run("task", "run", "--detach", "--name", "sleeper", "--", "echo asleep; sleep 100000")
	c.Run("task", "run", "--detach", "--name", "waiter", "--slots", "2", "--", "true")
	for _, args := range [][]string{
		{"workspace", "create", "research"},
		{"project", "create", "research", "vision"},
		{"template", "create", "basics", p.home + "/basics.yaml"},
		{"model", "create", "mnist"},
		{"experiment", "create", p.home + "/first.yaml", "--paused"},
		{"experiment", "create", p.home + "/second.yaml", "--paused"},
	} {
		c.Run(args...)
	}
	ada := p.command(c.Bin, "user", "create", "ada", "--password-stdin")
	ada.Stdin = strings.NewReader(clustertest.Password)
	if out, err := ada.CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	p.local("nearby")
	p.run("context", "use", "lab")
}
