package policy

import (
	"path"
	"strings"
)

// claims is above the directories that stand for volume claims. No machine has it.
const claims = "/determined/claims/"

// ClaimDirectory returns the host_path of a checkpoint storage of type shared_fs whose files are in a volume
// claim of the tasks' namespace. An experiment that keeps it keeps the claim.
func ClaimDirectory(claim string) string { return claims + claim }

// ClaimOf returns the volume claim that a directory is in, and the directory's path there. The claim is
// empty for one of a machine.
func ClaimOf(dir string) (claim, inside string) {
	below, found := strings.CutPrefix(path.Clean(dir), claims)
	if !found {
		return "", ""
	}
	claim, inside, _ = strings.Cut(below, "/")
	return claim, inside
}
