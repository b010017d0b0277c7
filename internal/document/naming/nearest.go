package naming

import (
	"strings"
	"unicode"
)

// Nearest returns the known key that key was probably meant to be, or "".
func Nearest(key string, known []string) string {
	best, bestAt := "", max(2, len(key)/3)+1
	joined := joinWords(key)
	for _, k := range known {
		if d := Distance(joined, joinWords(k)); d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

// joinWords makes maxInstances, max-instances and max_instances the same word.
func joinWords(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// Distance is the number of insertions, deletions and substitutions (Levenshtein)
// between a and b, of which only the first 64 bytes are looked at.
func Distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
