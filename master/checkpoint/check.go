package checkpoint

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
)

// maxMetadata bounds what is said of a checkpoint, in bytes of JSON: lists show it.
const maxMetadata = 1 << 20

// checkFiles refuses files that could lie elsewhere than in the directory of their checkpoint.
func checkFiles(uuid string, files map[string]int64) error {
	for name, size := range files {
		clean := strings.TrimSuffix(name, "/")
		outside := path.IsAbs(name) || slices.Contains(strings.Split(clean, "/"), "..") || strings.ContainsRune(name, 0)
		switch {
		case clean == "" || outside:
			return status.New(status.InvalidArgument,
				"checkpoint %s: resources: names must be relative and stay below its directory (%q)", uuid, excerpt.Of(name))
		case size < 0:
			return status.New(status.InvalidArgument, "checkpoint %s: resources: %q must have 0 or more bytes (%d)", uuid, excerpt.Of(name), size)
		}
	}
	return nil
}

// checkMetadata refuses metadata that are too large, or no JSON.
func checkMetadata(uuid string, metadata map[string]any) error {
	b, err := json.Marshal(metadata)
	if err != nil {
		return status.New(status.InvalidArgument, "checkpoint %s: metadata: cannot be kept as JSON: %v", uuid, err)
	}
	if len(b) > maxMetadata {
		return status.New(status.InvalidArgument,
			"checkpoint %s: metadata: has %d bytes; at most %d are kept: save more in a file of the checkpoint", uuid, len(b), maxMetadata)
	}
	return nil
}
