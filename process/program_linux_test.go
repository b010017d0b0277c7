package process

import (
	"os"
	"slices"
	"testing"
)

func TestOnlyCodeAndConstantsOfTheProgramAreUnmapped(t *testing.T) {
	t.Parallel()
	maps := `00400000-01000000 r-xp 00000000 fe:00 131 /usr/bin/det-deploy
01000000-02000000 r--p 00c00000 fe:00 131 /usr/bin/det-deploy
02000000-02100000 rw-p 01c00000 fe:00 131 /usr/bin/det-deploy
02100000-02200000 rw-p 00000000 00:00 0
7f0000000000-7f0000100000 r--p 00000000 fe:00 9 /usr/lib/det-deploy.so
7f0000200000-7f0000300000 r--s 00000000 fe:00 131 /usr/bin/det-deploy
55d000000000-55d000100000 r-xp 00000000 fe:00 131 /usr/bin/det-deploy
55d000100000-55d000200000 r--p 00100000 fe:00 131 /usr/bin/det-deploy
7ffe00000000-7ffe00001000 r-xp 00000000 00:00 0 [vdso]
`
	want := []mapping{{0x400000, 0x1000000}, {0x1000000, 0x2000000}, {0x55d000000000, 0x55d000100000}}
	if got := constantMappings([]byte(maps), "/usr/bin/det-deploy"); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestAProgramThatWasUnmappedContinues(t *testing.T) {
	t.Parallel()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if len(constantMappings(maps, self)) == 0 {
		t.Errorf("got no mappings of %s in\n%s", self, maps)
	}
	for range 3 {
		if err := UnmapProgram(); err != nil {
			t.Fatal(err)
		}
	}
}
