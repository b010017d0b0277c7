package naming

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// PrintableRule describes the names that IsPrintable accepts, as a phrase after "must".
const PrintableRule = "contain only printable characters: no control characters, invisible characters or bidirectional overrides"

// IsPrintable reports whether a name has only visible characters. Bidirectional overrides and
// invisible characters can make one name look like another.
func IsPrintable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar || isInvisible(r)
	})
}

// DotsRule describes the names that IsDots reports, as a phrase after "must".
const DotsRule = "not be . or .., which paths cannot contain"

// IsDots reports whether a name is "." or "..", which clients remove from the path of a request.
func IsDots(name string) bool { return name == "." || name == ".." }

// brailleBlank is a symbol without visible dots.
const brailleBlank = '\u2800'

// isInvisible reports whether r is an invisible letter, mark or symbol. Unicode format characters
// are already not printable.
func isInvisible(r rune) bool {
	return r == brailleBlank || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
