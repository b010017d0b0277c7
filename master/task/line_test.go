package task

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{"entrypoint": ["python", "train.py", "--lr", "0.1"], "x": [1]}`: "python train.py --lr 0.1",
		`{"entrypoint": "python train.py"}`:                               "python train.py",
		`{"entrypoint": null}`:                                            "",
		`{"entrypoint": {"a": 1}}`:                                        "",
		`{}`:                                                              "",
		``:                                                                "",
	} {
		if got := commandLine([]byte(config)); got != want {
			t.Errorf("%s: got %q, want %q", config, got, want)
		}
	}
	long := commandLine(fmt.Appendf(nil, `{"entrypoint": ["a%s"]}`, strings.Repeat("語", 200)))
	if len(long) > longestLine+len("…") || !utf8.ValidString(long) || !strings.HasSuffix(long, "語…") {
		t.Errorf("got %q", long)
	}
}
