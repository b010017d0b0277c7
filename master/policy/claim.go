package policy

import (
	"path"
	"strings"
)

// claims is the parent of the paths that represent volume claims. It does not exist on any machine.
const claims = "/determined/claims/"

// ClaimDirectory returns the host_path of a checkpoint storage of type shared_fs whose files are in
// a volume claim of the tasks' namespace. An experiment that stores this path keeps using the
// claim.
func ClaimDirectory(claim string) string { return claims + claim }

// ClaimOf returns the volume claim of a directory and its path in there. The claim is empty for a
// directory of a machine.
func ClaimOf(dir string) (claim, inside string) {
	below, found := strings.CutPrefix(path.Clean(dir), claims)
	if !found {
		return "", ""
	}
	claim, inside, _ = strings.Cut(below, "/")
	return claim, inside
}
