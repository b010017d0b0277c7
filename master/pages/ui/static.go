package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

// staticPath is the path of style sheets and scripts.
const staticPath = Root + "static/"

//go:embed static dist
var embedded embed.FS

// asset is a file with its address, which changes with the content.
type asset struct {
	content []byte
	hash    string
}

// assets are the style sheets and scripts by name.
var assets = readAssets()

func readAssets() map[string]asset {
	out := map[string]asset{}
	for _, dir := range []string{"static", "dist"} {
		files, err := embedded.ReadDir(dir)
		if err != nil { // it is embedded
			panic(err)
		}
		for _, f := range files {
			b, err := embedded.ReadFile(path.Join(dir, f.Name()))
			if err != nil { // it is embedded
				panic(err)
			}
			sum := sha256.Sum256(b)
			out[f.Name()] = asset{b, hex.EncodeToString(sum[:8])}
		}
	}
	return out
}

// staticAddress returns the address of a style sheet or script.
func staticAddress(name string) string { return staticPath + assets[name].hash + "/" + name }

// mediaTypes are the types of the files that are served.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// serveStatic serves a file. Browsers keep it, because its address changes with its content.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	a, found := assets[r.PathValue("name")]
	kind := mediaTypes[path.Ext(r.PathValue("name"))]
	if !found || kind == "" || r.PathValue("hash") != a.hash {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
