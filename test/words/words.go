// Package words counts the idiom of the project's comments: how often, per 10,000 words,
// they use a turn of phrase that Go's and Kubernetes' own comments hardly use, and how
// often they name what a function returns or how it fails.
package words

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// idiom is one group of phrases, and the bound on its rate in the whole project.
type idiom struct {
	name    string
	pattern *regexp.Regexp
	// bound is the highest rate per 10,000 words, or the lowest one if floor is set.
	bound float64
	floor bool
}

// idioms returns the counted groups. For comparison, package net of Go has rates of 1, 4,
// 3 and 149, client-go of 5, 1, 1 and 134.
func idioms() []idiom {
	whole := func(words string) *regexp.Regexp { return regexp.MustCompile(`\b(?:` + words + `)\b`) }
	return []idiom{
		{name: "what", bound: 15, pattern: whole(`what (?:is|are|was|were|has|have|had|it|they|comes?|came|a|an|the|its|their|there|of|nobody|may|must|can|runs?|ran|makes?|needs?)`)},
		{name: "says", bound: 8, pattern: whole(`say|says|said|saying|tells?|told`)},
		{name: "odd", bound: 5, pattern: whole(`stands|is none|are none|anew|nobody|goes? on|goes by|let in|taken back|of its own|of which|is no more|as well as it|whoever|whatever|at all`)},
		{name: "error words", bound: 60, floor: true, pattern: whole(`returns?|reports?|errors?|fails?|failed`)},
	}
}

// count holds the words of comments, and the matches of each idiom in their order.
type count struct {
	words int
	hits  []int
}

// add adds the comments of one piece of text.
func (c *count) add(comments string, of []idiom) {
	text := strings.ToLower(comments)
	c.words += len(strings.Fields(text))
	if c.hits == nil {
		c.hits = make([]int, len(of))
	}
	for i, d := range of {
		c.hits[i] += len(d.pattern.FindAllStringIndex(text, -1))
	}
}

// rate returns the matches of idiom i per 10,000 words.
func (c *count) rate(i int) float64 { return 10000 * float64(c.hits[i]) / float64(max(c.words, 1)) }

// misses returns a sentence for each idiom whose rate is out of bounds.
func (c *count) misses(of []idiom) []string {
	var out []string
	for i, d := range of {
		switch rate := c.rate(i); {
		case d.floor && rate < d.bound:
			out = append(out, fmt.Sprintf("%s: got %.1f per 10,000 words, want at least %.0f", d.name, rate, d.bound))
		case !d.floor && rate > d.bound:
			out = append(out, fmt.Sprintf("%s: got %.1f per 10,000 words, want at most %.0f", d.name, rate, d.bound))
		}
	}
	return out
}

// line formats the rates in one line.
func (c *count) line(name string, of []idiom) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %6d words", name, c.words)
	for i, d := range of {
		fmt.Fprintf(&b, "  %s %.0f", d.name, c.rate(i))
	}
	return b.String()
}

// report formats packages of at least least words, worst first.
func report(packages map[string]*count, of []idiom, least int) string {
	distance := func(name string) float64 {
		sum := 0.0
		for i, d := range of {
			if !d.floor {
				sum += packages[name].rate(i)
			}
		}
		return sum
	}
	var names []string
	for name, c := range packages {
		if c.words >= least {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := distance(b) - distance(a); d != 0 {
			return int(d * 1000)
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	for _, name := range names {
		b.WriteString(packages[name].line(name, of) + "\n")
	}
	return b.String()
}

// comment matches the text of a line comment that is not a directive.
var comment = regexp.MustCompile(`(?:^|\s)//(.*)`)

// comments returns the line comments of a Go file, joined by blanks.
func comments(source io.Reader) (string, error) {
	var b strings.Builder
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		m := comment.FindStringSubmatch(lines.Text())
		if m == nil || strings.HasPrefix(m[1], "go:") || strings.HasPrefix(m[1], "nolint") {
			continue
		}
		b.WriteString(strings.TrimPrefix(m[1], " ") + " ")
	}
	return b.String(), lines.Err()
}
