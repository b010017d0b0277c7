package task

import (
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
)

// The program that is started in a held task runs to its end, and the task ends with its exit code.
func TestHeldTaskEndsWithItsProgram(t *testing.T) {
	t.Parallel()
	for entrypoint, want := range map[string]int{"cat; exit 7": 7, "kill -KILL $$": 137} {
		config, err := structpb.NewStruct(map[string]any{"entrypoint": entrypoint})
		if err != nil {
			t.Fatal(err)
		}
		argv := hold(config)
		task := entrypointOf(config)
		if !strings.HasPrefix(task[2], "# task run -i: /bin/sh -c "+entrypoint+"\n") {
			t.Errorf("got the command %q", task)
		}
		held := exec.CommandContext(t.Context(), task[0], task[1:]...)
		if err := held.Start(); err != nil {
			t.Fatal(err)
		}
		program := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		program.Stdin = strings.NewReader("some input")
		out, _ := program.Output()
		if code := program.ProcessState.ExitCode(); code != want || want == 7 && string(out) != "some input" {
			t.Errorf("%s: got %q and code %d", entrypoint, out, code)
		}
		_ = held.Wait() // with a code
		if code := held.ProcessState.ExitCode(); code != want {
			t.Errorf("%s: the task ended with %d", entrypoint, code)
		}
	}
}
