package task

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// A shortened pattern matches the same lines as the original.
func TestAShortenedPatternMatchesTheSame(t *testing.T) {
	t.Parallel()
	parts := []string{".*", "a", "b", "|", "^", "$", "?", "+", "{2}", "(", ")", `\`, "[", "]", `\Q`, `\E`, ".", "(?i)"}
	rapid.Check(t, func(t *rapid.T) {
		pattern := ""
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(parts), 1, 8).Draw(t, "pattern") {
			pattern += p
		}
		want, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		got, err := compilePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		line := rapid.StringMatching(`[abAB.*]{0,6}`).Draw(t, "line")
		if got.MatchString(line) != want.MatchString(line) {
			t.Fatalf("%q as %q on %q: got %v", pattern, got, line, got.MatchString(line))
		}
	})
}
