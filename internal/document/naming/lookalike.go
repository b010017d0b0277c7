// Package naming judges names that people give: whether they show what they are, which
// look alike, and which known one was meant. It is a leaf.
package naming

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold is one spelling of all names that look alike: that differ only in case,
// width or ligatures, or in letters of another alphabet with the same shape. It is
// for comparing; a name is kept and shown as it was given.
func Fold(name string) string {
	apart := norm.NFKD.String(norm.NFKC.String(name)) // marks stay where they are: й is и and its mark
	shapes := strings.Map(func(r rune) rune {
		if latin, found := shapes[r]; found {
			return latin
		}
		return r
	}, apart)
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(shapes)))
}

// shapes are the letters that most fonts draw like a Latin one. Capitals and small
// letters differ: Η is drawn like H, and η like n.
var shapes = shapesOf(
	// Cyrillic.
	"АВСЕНІЈКМОРЅТХУҮԚԜ", "ABCEHIJKMOPSTXYYQW",
	"асԁеһіјкӏморԛгѕтуүѵԝх", "acdehijklmopqrstyyvwx",
	// Greek.
	"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ", "ABEZHIKMNOPTYXCJ",
	"αγηικνορστυχωϲϳ", "aynikvopotuxwcj",
	// Armenian.
	"ՕՍՏհյոսօցզ", "OUShjnuogq",
	// Latin, of phonetics and of other languages.
	"ıɑɡǀᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "iaglabcdefghijklmnoprstuvwyz",
)

// shapesOf pairs the letters of each two texts, which have equally many.
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

// together are the scripts that are written within one word.
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// MixedScripts lists the scripts of a name whose letters are of several that are not
// written together, and nothing of any other name.
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
