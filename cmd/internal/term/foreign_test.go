package term

import "testing"

func TestPrintForeignEscapesControlCharacters(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, head, text, want string }{
		{"plain text", "[t] || ", "Épochs\t3, 山田 👩‍🚀\n", "[t] || Épochs\t3, 山田 👩‍🚀\n"},
		{"a colour", "", "\x1b[1;31mred\x1b[0m\n", "\x1b[1;31mred\x1b[0m\x1b[0m\n"},
		{"a colour without an end", "[t] || ", "\x1b[8mhidden\n", "[t] || \x1b[8mhidden\x1b[0m\n"},
		{"a cleared screen", "", "\x1b[2J\x1b[H\n", `\x1b[2J\x1b[H` + "\n"},
		{"a title", "", "\x1b]0;owned\x07\n", `\x1b]0;owned\a` + "\n"},
		{"a question whose answer is typed", "", "\x1b[6n\x05\n", `\x1b[6n\x05` + "\n"},
		{"a string to the clipboard", "", "\x1b]52;c;cm0=\x1b\\\n", `\x1b]52;c;cm0=\x1b\` + "\n"},
		{"sequences of one character", "", "\u009b2J\u0090\n", `\u009b2J\u0090` + "\n"},
		{"half a character that is a sequence elsewhere", "", "\x9b2J\n", "\ufffd2J\n"},
		{"steps back", "[t] || ", "\b\b\b\bE: forged\x7f\n", `[t] || \b\b\b\bE: forged\x7f` + "\n"},
		{"another head over its own", "[t] || ", "x\r[t] [rank=0] || forged\n", "[t] || [t] [rank=0] || forged\n"},
		{"a bar of progress", "[t] || ", " 10%\r 50%\r100%\r\n", "[t] || 100%\n"},
		{"another direction of writing", "", "\u202eback\u2066\u2028\n", `\u202eback\u2066\u2028` + "\n"},
		{"a head of somebody else's", "[t] \r\x1b[2J || ", "x\n", `[t] \r\x1b[2J || ` + "x\n"},
		{"no end of the line", "", "\x1b[7mx", "\x1b[7mx\x1b[0m"},
	}
	for _, tt := range tests {
		s, out, _ := Test("", true)
		s.noColour = false
		if err := s.PrintForeign(tt.head, tt.text); err != nil || out.String() != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, out, err, tt.want)
		}
		s, out, _ = Test("", false)
		if err := s.PrintForeign(tt.head, tt.text); err != nil || out.String() != tt.head+tt.text {
			t.Errorf("%s, in a file: got %q, %v, want it as it is", tt.name, out, err)
		}
	}
	s, out, _ := Test("", true) // without colors
	if err := s.PrintForeign("", "\x1b[31mred\x1b[m\n"); err != nil || out.String() != "red\n" {
		t.Errorf("without colours: got %q, %v, want none", out, err)
	}
}
