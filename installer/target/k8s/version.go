package k8s

import "strings"

// versionOfImage is the tag of an image, which is the det-deploy in it.
func versionOfImage(image string) string {
	name, digest, pinned := strings.Cut(image, "@")
	at := strings.LastIndex(name, ":")
	switch {
	case at > strings.LastIndex(name, "/"):
		return name[at+1:]
	case pinned:
		return digest
	}
	return "latest"
}
