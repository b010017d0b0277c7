// Package naming checks names given by users: whether they are printable, which names look alike,
// and which known name was probably intended. It imports no other package of this module.
package naming

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns a canonical spelling of a name, equal for all names that look alike: names that
// differ only in case, width or ligatures, or in letters of another alphabet with the same shape.
// Use it for comparison only; names are stored and displayed unchanged.
func Fold(name string) string {
	apart := norm.NFKD.String(norm.NFKC.String(name)) // marks are kept: й is и and a mark
	shapes := strings.Map(func(r rune) rune {
		if latin, found := shapes[r]; found {
			return latin
		}
		return r
	}, apart)
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(shapes)))
}

// shapes maps letters to the Latin letters that look the same in most fonts. Upper and lower case
// differ: Η looks like H, and η like n.
var shapes = shapesOf(
	// Cyrillic.
	"АВСЕНІЈКМОРЅТХУҮԚԜ", "ABCEHIJKMOPSTXYYQW",
	"асԁеһіјкӏморԛгѕтуүѵԝх", "acdehijklmopqrstyyvwx",
	// Greek.
	"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ", "ABEZHIKMNOPTYXCJ",
	"αγηικνορστυχωϲϳ", "aynikvopotuxwcj",
	// Armenian.
	"ՕՍՏհյոսօցզ", "OUShjnuogq",
	// Latin letters of phonetic and other alphabets.
	"ıɑɡǀᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "iaglabcdefghijklmnoprstuvwyz",
)

// shapesOf maps the letters of each text to those of the next, which has the same length.
func shapesOf(texts ...string) map[rune]rune {
	all := map[rune]rune{}
	for pair := range slices.Chunk(texts, 2) {
		letters, latin := []rune(pair[0]), []rune(pair[1])
		for i, r := range letters {
			all[r] = latin[i]
		}
	}
	return all
}

// together lists the scripts that occur within one word.
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// MixedScripts returns the scripts of a name if it mixes scripts that do not occur in one word, or
// nil.
func MixedScripts(name string) []string {
	of := map[string]bool{}
	for _, r := range norm.NFKC.String(name) {
		if unicode.In(r, unicode.Common, unicode.Inherited) {
			continue
		}
		for script, table := range unicode.Scripts {
			if unicode.Is(table, r) {
				of[script] = true
			}
		}
	}
	all := slices.Sorted(maps.Keys(of))
	fits := func(set []string) bool {
		return !slices.ContainsFunc(all, func(s string) bool { return !slices.Contains(set, s) })
	}
	if len(all) < 2 || slices.ContainsFunc(together, fits) {
		return nil
	}
	return all
}
