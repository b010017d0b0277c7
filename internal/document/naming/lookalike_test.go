package naming

import (
	"slices"
	"testing"
)

func TestNamesThatDifferInSpellingAreOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"admin", "ADMIN", "ａｄｍｉｎ", "ⓐdmin", "𝐚dmin", "admⅰn", "\u0430dmin", "adm\u0456n", "\u0391dmin", "admi\u03b7", "adm\u0131n", "\u1d00dmin"} {
		if got := Fold(name); got != "admin" {
			t.Errorf("%q: got %q, want admin", name, got)
		}
	}
	for _, name := range []string{"adm1n", "admiń", "administrator", "админ"} {
		if got := Fold(name); got == "admin" {
			t.Errorf("%q: got %q, want another name", name, got)
		}
	}
	// Words of one alphabet with the shapes of another; marks are kept.
	for cyrillic, latin := range map[string]string{"\u0430\u0441\u0435": "ace", "\u0420\u0410\u0422": "pat", "\u0437\u043e\u0451": "\u0437o\u00eb"} {
		if got := Fold(cyrillic); got != latin {
			t.Errorf("%q: got %q, want %q", cyrillic, got, latin)
		}
	}
	for _, name := range []string{"й", "и", "ω", "漢"} {
		if Fold(name) != Fold(Fold(name)) {
			t.Errorf("%q: got %q, and of that %q", name, Fold(name), Fold(Fold(name)))
		}
	}
}

func TestScriptsThatAreNotWrittenTogether(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "ada", "ada.lovelace@example.com", "o'neill-2", "admiń", "иван_2", "Ωμέγα", "山田taro", "カナかな漢字", "김ada", "模型-1", "ㄅ漢", "ａda", "مريم"} {
		if got := MixedScripts(name); got != nil {
			t.Errorf("%q: got %q, want it to be taken", name, got)
		}
	}
	for name, want := range map[string][]string{
		"\u0430dmin": {"Cyrillic", "Latin"}, "admi\u03b7": {"Greek", "Latin"}, "\u0561\u043e": {"Armenian", "Cyrillic"},
		"かな김": {"Hangul", "Hiragana"}, "ad\u13aain": {"Cherokee", "Latin"},
	} {
		if got := MixedScripts(name); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
