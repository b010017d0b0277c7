package experiment

import "testing"

func TestFileOfTheEntrypoint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"entrypoint: python3 train.py --lr 1":                                     "train.py",
		"entrypoint: [python3, -m, determined.launch.torch_distributed, main.py]": "main.py",
		"entrypoint: ./run":                 "./run",
		"entrypoint: bash scripts/run.sh":   "scripts/run.sh",
		"entrypoint: python3 -m train":      "",
		"entrypoint: python3 /opt/train.py": "",
		"entrypoint: model_def:Trial":       "",
		"entrypoint: python3 $HOME/x.py":    "",
		"name: x":                           "",
		"a: [":                              "",
		"searcher: 3\nentrypoint: a.py":     "a.py",
	} {
		if got := entryFile([]byte(text)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
