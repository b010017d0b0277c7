package kubetest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Images for real nodes, built from files of this machine.
const (
	// PostgresImage is a PostgreSQL that supports POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB and
	// PGDATA.
	PostgresImage = "kubelab.local/postgres:1"
	// TaskImage is a static busybox with links for its applets.
	TaskImage = "kubelab.local/task:1"
)

// Postgres returns the path of an archive with PostgresImage. It contains the PostgreSQL of this
// machine's packages; without one the test is skipped, or fails if CI=true.
func (c *Cluster) Postgres() string {
	c.t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		lacks(c.t, "PostgreSQL is not installed; run: apt-get install -y postgresql")
	}
	program := found[len(found)-1]
	return c.image(program, func(s *stage) []string {
		home := filepath.Dir(filepath.Dir(program))
		s.postgres(home)
		s.busybox()
		s.write("entrypoint.sh", postgresEntrypoint, 0o755)
		s.write("etc/passwd", "postgres:x:999:999::/var/lib/postgresql:/bin/sh\n", 0o644)
		return []string{
			"--tag", PostgresImage, "--user", "999:999", "--entrypoint", "/entrypoint.sh", "--expose", "5432/tcp",
			"--env", "PATH=" + home + "/bin:/bin", "--env", "LC_ALL=C.UTF-8", "--env", "TZ=UTC",
		}
	})
}

// Task returns the path of an archive with TaskImage.
func (c *Cluster) Task() string {
	c.t.Helper()
	return c.image(busybox(c.t), func(s *stage) []string {
		s.busybox()
		s.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n", 0o644)
		s.write("etc/group", "root:x:0:\nnogroup:x:65534:\n", 0o644)
		return []string{"--tag", TaskImage, "--env", "PATH=/bin"}
	})
}

// Master builds the image det-deploy:VERSION like `make image`, and returns the path of its archive
// and of the program in it.
func (c *Cluster) Master(version string) (archive, program string) {
	c.t.Helper()
	tree := filepath.Dir(filepath.Dir(filepath.Dir(c.claim.script)))
	dist := c.t.TempDir()
	cmd := exec.CommandContext(c.t.Context(), "make", "-s", "image", "DIST="+dist, "VERSION="+version)
	cmd.Dir = tree
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("make image: %v\n%s", err, out)
	}
	return filepath.Join(dist, "det-deploy-"+version+"-linux-"+runtime.GOARCH+".tar"),
		filepath.Join(dist, "linux-"+runtime.GOARCH, "det-deploy")
}

// image builds an archive once for each main program and each version of this package, which c.Bin
// identifies.
func (c *Cluster) image(program string, fill func(*stage) []string) string {
	c.t.Helper()
	info, err := os.Stat(program)
	if err != nil {
		c.t.Fatal(err)
	}
	key := sha256.Sum256(fmt.Append(nil, program, info.Size(), info.ModTime(), c.Bin, postgresEntrypoint))
	out := filepath.Join(c.claim.dir, fmt.Sprintf("%s-%x.tar", filepath.Base(program), key[:6]))
	if _, err := os.Stat(out); err == nil {
		return out
	}
	s := &stage{t: c.t, dir: c.t.TempDir()}
	// Written to a temporary file and renamed, because other tests may write the same archive.
	part := filepath.Join(c.t.TempDir(), "image.tar")
	args := append(fill(s), "--out", part, "--file", s.dir+":/")
	if text, err := exec.CommandContext(c.t.Context(), filepath.Join(c.Bin, "image"), args...).CombinedOutput(); err != nil {
		c.t.Fatalf("make the image of %s: %v\n%s", program, err, text)
	}
	if err := os.Rename(part, out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

func busybox(t testing.TB) string {
	t.Helper()
	for _, path := range []string{"/bin/busybox", "/usr/bin/busybox"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	lacks(t, "a static busybox is not installed; run: apt-get install -y busybox-static")
	return ""
}

// stage is the root file system of an image under construction.
type stage struct {
	t   testing.TB
	dir string
}

func (s *stage) write(at, text string, mode os.FileMode) {
	s.t.Helper()
	path := filepath.Join(s.dir, at)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// copies copies files and directories of this machine to the same paths.
func (s *stage) copies(paths ...string) {
	s.t.Helper()
	for _, p := range paths {
		to := filepath.Join(s.dir, p)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if out, err := exec.CommandContext(s.t.Context(), "cp", "-rLT", p, to).CombinedOutput(); err != nil {
			s.t.Fatalf("copy %s: %v\n%s", p, err, out)
		}
	}
}

func (s *stage) busybox() {
	s.t.Helper()
	path := busybox(s.t)
	names, err := exec.CommandContext(s.t.Context(), path, "--list").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("bin/busybox", string(b), 0o755)
	for _, name := range strings.Fields(string(names)) {
		if name == "busybox" {
			continue
		}
		if err := os.Symlink("busybox", filepath.Join(s.dir, "bin", name)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// postgres copies a server with its libraries and data files.
func (s *stage) postgres(home string) {
	s.t.Helper()
	version := filepath.Base(home)
	var programs []string
	for _, name := range []string{"postgres", "initdb", "pg_isready", "psql"} {
		programs = append(programs, filepath.Join(home, "bin", name))
	}
	modules, err := filepath.Glob(filepath.Join(home, "lib", "*.so"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range modules {
		// Just-in-time compilation needs LLVM, which is larger than all other files.
		if !strings.Contains(m, "llvmjit") {
			programs = append(programs, m)
		}
	}
	s.copies(programs...)
	s.copies(s.libraries(programs)...)
	s.copies("/usr/share/postgresql/"+version, "/usr/share/zoneinfo/UTC", "/usr/share/zoneinfo/GMT", "/usr/lib/locale/C.utf8")
}

// libraries returns the shared libraries of programs and their dynamic loader.
func (s *stage) libraries(programs []string) []string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "ldd", programs...).Output()
	if err != nil {
		s.t.Fatalf("ldd: %v\n%s", err, out)
	}
	seen := make(map[string]bool)
	var all []string
	for line := range strings.Lines(string(out)) {
		for _, word := range strings.Fields(line) {
			if filepath.IsAbs(word) && !strings.HasSuffix(word, ":") && !seen[word] {
				seen[word] = true
				all = append(all, word)
			}
		}
	}
	return all
}

// postgresEntrypoint initializes the data directory on the first start. Connections need a
// password, except those from the same pod.
const postgresEntrypoint = `#!/bin/sh
set -eu
: "${PGDATA:=/var/lib/postgresql/data/pgdata}" "${POSTGRES_USER:=postgres}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
export PGDATA
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	mkdir -p "$PGDATA" && chmod 700 "$PGDATA"
	(umask 077 && printf '%s\n' "${POSTGRES_PASSWORD:?POSTGRES_PASSWORD is needed}" >/tmp/password)
	initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --encoding=UTF8 --locale=C.UTF-8 \
		--auth-local=trust --auth-host=scram-sha-256 --no-sync >/tmp/initdb.log || { cat /tmp/initdb.log; exit 1; }
	rm /tmp/password
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	if [ "$POSTGRES_DB" != postgres ]; then
		echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -j -D "$PGDATA" postgres >/dev/null
	fi
fi
exec postgres -D "$PGDATA" -c 'listen_addresses=*' -c unix_socket_directories=/tmp -c jit=off "$@"
`
