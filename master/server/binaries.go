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
	"sync"
	"sync/atomic"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// Binaries holds the programs that a master serves, so that new agents and agents that upgrade need only
// the master's address.
type Binaries struct {
	programs map[string]*program
	hashing  sync.WaitGroup
}

// program is a program file. It remains open, so that the served content matches the hash even if the file
// is replaced.
type program struct {
	file *os.File
	size int64
	made time.Time
	// sha256 waits for the hash, whose computation takes longer than the start of a master.
	sha256 func() (string, error)
	hashed atomic.Pointer[string]
}

// platforms matches the names of program files, such as "linux-amd64".
var platforms = regexp.MustCompile(`^[a-z0-9]+-[a-z0-9_]+$`)

// OpenBinaries opens the programs in dir, which may be "" or missing, and the running program at self.
// Each file in dir is named after its platform. The programs are hashed in the background. Close closes
// the files.
func OpenBinaries(dir, self string) (*Binaries, error) {
	b := &Binaries{programs: make(map[string]*program)}
	names := map[string]string{runtime.GOOS + "-" + runtime.GOARCH: self}
	entries, err := os.ReadDir(dir)
	if dir != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read binaries_dir: %w", err)
	}
	for _, e := range entries {
		if platforms.MatchString(e.Name()) && !e.IsDir() {
			names[e.Name()] = filepath.Join(dir, e.Name())
		}
	}
	for platform, path := range names {
		p, err := openProgram(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot open the program for %s: %w", platform, err), b.Close())
		}
		b.programs[platform] = p
		b.hashing.Go(func() { _, _ = p.sha256() }) // the error is returned to clients that request the program
	}
	return b, nil
}

func openProgram(path string) (*program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	p := &program{file: f, size: info.Size(), made: info.ModTime()}
	p.sha256 = sync.OnceValues(p.hashFile)
	return p, nil
}

func (p *program) hashFile() (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(p.file, 0, p.size)); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	p.hashed.Store(&sum)
	return sum, nil
}

// Hashes returns the hexadecimal SHA-256 of each program by platform. It waits until they are computed,
// and omits unreadable programs.
func (b *Binaries) Hashes() map[string]string {
	out := make(map[string]string, len(b.programs))
	for platform, p := range b.programs {
		if sum, err := p.sha256(); err == nil {
			out[platform] = sum
		}
	}
	return out
}

// Own returns the SHA-256 of the running program, or "" if it is not computed yet. It does not wait.
func (b *Binaries) Own() string {
	p, found := b.programs[runtime.GOOS+"-"+runtime.GOARCH]
	if !found || p.hashed.Load() == nil {
		return ""
	}
	return *p.hashed.Load()
}

// Close closes the files.
func (b *Binaries) Close() error {
	var errs []error
	for _, p := range b.programs {
		errs = append(errs, p.file.Close())
	}
	b.hashing.Wait() // reading a closed file ends the hashing
	return errors.Join(errs...)
}

// ServeHTTP serves programs at GET /binaries/<platform> and their hashes at /binaries/<platform>.sha256.
// No authentication is required, because programs are not secret and a machine fetches one before it can
// prove its identity.
func (b *Binaries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	platform, hash := strings.CutSuffix(r.PathValue("platform"), ".sha256")
	p, found := b.programs[platform]
	if !found {
		plainError(w, http.StatusNotFound, fmt.Sprintf("this master has no program for %q; add it to binaries_dir under that name", excerpt.Of(platform)))
		return
	}
	sum, err := p.sha256()
	switch {
	case err != nil:
		plainError(w, http.StatusInternalServerError, fmt.Sprintf("this master cannot read its program for %s: %v; replace it in binaries_dir and restart the master", platform, err))
	case hash:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "%s  %s\n", sum, platform)
	default:
		// The time limit is that of the largest upload, because remote machines may be slow.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(largeTime)) // not supported by recorders in tests
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", `"`+sum+`"`)
		http.ServeContent(w, r, "", p.made, io.NewSectionReader(p.file, 0, p.size))
	}
}
