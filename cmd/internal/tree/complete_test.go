package tree

import "testing"

func TestFlagsThatNameFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"to directory for the files (default checkpoints/CHECKPOINT)": true,
		"to destination, the name or ID of a workspace":               false,
		"config-file agent.yaml of the agent":                         true,
		"name new name of the project":                                false,
		"binary det-deploy for another architecture, as amd64=PATH":   true,
	} {
		if got := namesFiles(text); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}
