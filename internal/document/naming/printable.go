package naming

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// PrintableRule is what IsPrintable asks of a name, to be put behind "must".
const PrintableRule = "have only characters that can be seen: no control characters, and none that turn the direction of writing"

// IsPrintable reports whether a name shows what it is: a bidirectional override
// or an invisible character makes one name look like another.
func IsPrintable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar || isInvisible(r)
	})
}

// brailleBlank is a symbol of which nothing is to be seen.
const brailleBlank = '\u2800'

// isInvisible reports the letters, marks and symbols that are drawn as nothing. What
// Unicode calls a format character is not printable already.
func isInvisible(r rune) bool {
	return r == brailleBlank || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
