// Command notices writes the licenses and notices of everything that the program of det-deploy contains: Go,
// its modules on all platforms, and the scripts of the web pages. It reads the module cache and needs no
// network.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// target is the file that the command version prints.
const target = "cmd/internal/cmd/version/licenses.txt.gz"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	defer stop()
	if err := writeNotices(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1) //nolint:forbidigo,gocritic // this is main
	}
}

func writeNotices(ctx context.Context) error {
	parts, err := findParts(ctx)
	if err != nil {
		return err
	}
	text, err := compose(parts)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("compress the notices: %w", err)
	}
	if _, err := z.Write([]byte(text)); err != nil {
		return fmt.Errorf("compress the notices: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("compress the notices: %w", err)
	}
	return os.WriteFile(target, b.Bytes(), 0o644) //nolint:gosec // it is a source file
}

// part is a part of the program with the files of its licenses.
type part struct {
	name  string
	files []string
}

// findParts returns Go, the scripts of the web pages, and the modules.
func findParts(ctx context.Context) ([]part, error) {
	dist := "master/pages/ui/dist/"
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	parts := []part{
		{"The Go standard library and runtime", []string{filepath.Join(strings.TrimSpace(string(root)), "LICENSE")}},
		{"htmx", []string{dist + "htmx.LICENSE"}},
		{"uPlot", []string{dist + "uPlot.LICENSE"}},
	}
	modules := map[string]string{}
	for _, system := range []string{"linux", "darwin"} {
		cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/det-deploy")
		cmd.Env, cmd.Stderr = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the modules of %s: %w", system, err)
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, found := strings.Cut(strings.TrimSpace(line), "\t"); found {
				modules[name] = dir
			}
		}
	}
	var names []string
	for name := range modules {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		files, err := licensesIn(modules[name])
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", name, err)
		}
		parts = append(parts, part{name, files})
	}
	return parts, nil
}

var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licensesIn returns the files of a module with licenses and notices. It returns an error if there are none.
func licensesIn(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the module cache: %w", err)
	}
	var files []string
	for _, f := range list {
		if !f.IsDir() && licenseName.MatchString(f.Name()) && !strings.HasSuffix(f.Name(), ".go") {
			files = append(files, filepath.Join(dir, f.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no license in %s", dir)
	}
	return files, nil
}

// line separates the texts.
var line = strings.Repeat("-", 78) + "\n"

// compose returns the texts, each after the parts that have it.
func compose(parts []part) (string, error) {
	type group struct {
		names []string
		text  string
	}
	var groups []*group
	known := map[[sha256.Size]byte]*group{}
	for _, p := range parts {
		var text strings.Builder
		for _, f := range p.files {
			b, err := os.ReadFile(f)
			if err != nil {
				return "", fmt.Errorf("read a license: %w", err)
			}
			text.WriteString(strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")) + "\n\n")
		}
		sum := sha256.Sum256([]byte(text.String()))
		if known[sum] == nil {
			known[sum] = &group{text: text.String()}
			groups = append(groups, known[sum])
		}
		known[sum].names = append(known[sum].names, p.name)
	}
	var out strings.Builder
	out.WriteString("det-deploy contains the following works of others, under their licenses.\n\n")
	for _, g := range groups {
		out.WriteString(line + strings.Join(g.names, "\n") + "\n" + line + "\n" + g.text)
	}
	return out.String(), nil
}
