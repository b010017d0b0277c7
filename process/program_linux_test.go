package process

import (
	"slices"
	"testing"
)

func TestOnlyCodeAndConstantsOfTheProgramAreUnmapped(t *testing.T) {
	t.Parallel()
	smaps := `00400000-01000000 r-xp 00000000 fe:00 131 /usr/bin/det-deploy
Size:              12288 kB
Rss:                4096 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
01000000-02000000 r--p 00c00000 fe:00 131 /usr/bin/det-deploy
Anonymous:             0 kB
02000000-02001000 r--p 01c00000 fe:00 131 /usr/bin/det-deploy
Rss:                   4 kB
Anonymous:             4 kB
02001000-02100000 rw-p 01c01000 fe:00 131 /usr/bin/det-deploy
Anonymous:             0 kB
02100000-02200000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000100000 r--p 00000000 fe:00 9 /usr/lib/det-deploy.so
Anonymous:             0 kB
7f0000200000-7f0000300000 r--s 00000000 fe:00 131 /usr/bin/det-deploy
Anonymous:             0 kB
55d000000000-55d000100000 r-xp 00000000 fe:00 131 /usr/bin/det-deploy
Anonymous:             0 kB
55d000100000-55d000200000 r--p 00100000 fe:00 131 /usr/bin/det-deploy
Anonymous:            12 kB
7ffe00000000-7ffe00001000 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0x1000000}, {0x1000000, 0x2000000}, {0x55d000000000, 0x55d000100000}}
	if got := constantMappings([]byte(smaps), "/usr/bin/det-deploy"); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestAProgramThatWasUnmappedContinues(t *testing.T) {
	t.Parallel()
	if all, err := ownConstants(); len(all) == 0 || err != nil {
		t.Errorf("got no mappings, %v", err)
	}
	for range 3 {
		if err := UnmapProgram(); err != nil {
			t.Fatal(err)
		}
	}
}
