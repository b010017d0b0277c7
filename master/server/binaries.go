package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/excerpt"
)

// Binaries are the programs that a master hands out, so that a machine which is to
// become an agent, or an agent which is to follow its master, needs nothing but the
// master's address.
type Binaries struct {
	programs map[string]program
}

// program is one file, hashed when the master started. It is kept open, so that
// what is handed out stays what was hashed when the file is replaced.
type program struct {
	file   *os.File
	size   int64
	made   time.Time
	sha256 string
}

// platforms are what a file may be called: "linux-amd64".
var platforms = regexp.MustCompile(`^[a-z0-9]+-[a-z0-9_]+$`)

// OpenBinaries opens the programs in dir, which may be empty or missing, each named
// after its platform, and the program itself for its own. Self is where the program
// is. Close gives the files back.
func OpenBinaries(dir, self string) (*Binaries, error) {
	b := &Binaries{programs: make(map[string]program)}
	names := map[string]string{runtime.GOOS + "-" + runtime.GOARCH: self}
	entries, err := os.ReadDir(dir)
	if dir != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the programs to hand out: %w", err)
	}
	for _, e := range entries {
		if platforms.MatchString(e.Name()) && !e.IsDir() {
			names[e.Name()] = filepath.Join(dir, e.Name())
		}
	}
	for platform, path := range names {
		p, err := openProgram(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the program for %s: %w", platform, err), b.Close())
		}
		b.programs[platform] = p
	}
	return b, nil
}

func openProgram(path string) (program, error) {
	f, err := os.Open(path)
	if err != nil {
		return program{}, err
	}
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return program{}, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return program{}, errors.Join(err, f.Close())
	}
	return program{f, size, info.ModTime(), hex.EncodeToString(h.Sum(nil))}, nil
}

// Hashes returns the SHA-256 of each program in hexadecimal, by platform.
func (b *Binaries) Hashes() map[string]string {
	out := make(map[string]string, len(b.programs))
	for platform, p := range b.programs {
		out[platform] = p.sha256
	}
	return out
}

// Close closes the files.
func (b *Binaries) Close() error {
	var errs []error
	for _, p := range b.programs {
		errs = append(errs, p.file.Close())
	}
	return errors.Join(errs...)
}

// ServeHTTP answers GET /binaries/<platform> with the program and
// /binaries/<platform>.sha256 with its hash. Anybody may ask: a program is no
// secret, and a machine asks before it can prove who it is.
func (b *Binaries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	platform, hash := strings.CutSuffix(r.PathValue("platform"), ".sha256")
	p, found := b.programs[platform]
	switch {
	case !found:
		plainError(w, http.StatusNotFound, fmt.Sprintf("this master has no program for %q; put it into binaries_dir under that name", excerpt.Of(platform)))
	case hash:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "%s  %s\n", p.sha256, platform)
	default:
		// As long as the largest upload: a machine far away is slow, not hostile.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(largeTime)) // recorders in tests have none
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", `"`+p.sha256+`"`)
		http.ServeContent(w, r, "", p.made, io.NewSectionReader(p.file, 0, p.size))
	}
}
