package policy

import (
	"net/netip"
	"slices"
	"strings"
)

// fullImage returns an image name with its registry, as engines do: python:3.11 is
// docker.io/library/python:3.11.
func fullImage(name string) string {
	first, rest, many := strings.Cut(name, "/")
	switch {
	case !many:
		return "docker.io/library/" + name
	case !isRegistry(first):
		return "docker.io/" + name
	case first == "docker.io" || first == "index.docker.io":
		if !strings.Contains(rest, "/") {
			rest = "library/" + rest
		}
		return "docker.io/" + rest
	default:
		return name
	}
}

// isRegistry reports whether the first part of an image name is a host.
func isRegistry(first string) bool {
	return first == "localhost" || strings.ContainsAny(first, ".:")
}

// isOwnRegistry reports whether an image's registry has a loopback or link-local address: a server on
// the machine that fetches the image, or the metadata server of its cloud.
func isOwnRegistry(image string) bool {
	first, _, many := strings.Cut(strings.ToLower(image), "/")
	if !many || !isRegistry(first) {
		return false
	}
	host := strings.TrimSuffix(hostOf(first), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	isNumber := last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	return isNumber || last == "localhost" || slices.Contains(ownNames(), host) // resolvers read 127.1 as 127.0.0.1
}

// ownNames are names of loopback and link-local addresses in the files of common systems and clouds.
func ownNames() []string {
	return []string{"localhost.localdomain", "ip6-localhost", "ip6-loopback", "metadata.google.internal"}
}

// hostOf returns the host of an address without its port.
func hostOf(address string) string {
	if inside, found := strings.CutPrefix(address, "["); found {
		host, _, _ := strings.Cut(inside, "]")
		return host
	}
	host, _, _ := strings.Cut(address, ":")
	return host
}

// fullPrefix expands an administrator's image prefix in the same way. A host alone is a registry:
// registry.example.com, localhost:5000.
func fullPrefix(prefix string) string {
	if !strings.Contains(prefix, "/") {
		host, _, _ := strings.Cut(prefix, ":")
		if host == "localhost" || strings.Contains(host, ".") {
			prefix += "/"
		}
	}
	if rest, hub := strings.CutPrefix(strings.TrimPrefix(prefix, "index."), "docker.io/"); hub {
		return "docker.io/" + rest
	}
	return fullImage(prefix)
}

// isDigest reports whether an engine may interpret a name as the ID of a local image, whatever its
// real name.
func isDigest(name string) bool {
	return strings.HasPrefix(name, "sha256:") || strings.Trim(name, "0123456789abcdef") == ""
}

// imageBegins compares complete parts of names: team is not a prefix of teamwork.
func imageBegins(image, prefix string) bool {
	if isDigest(image) {
		return false
	}
	image, prefix = fullImage(image), fullPrefix(prefix)
	if slices.ContainsFunc(strings.Split(image, "/"), func(part string) bool { return part == "" || part == "." || part == ".." }) {
		return false
	}
	rest, begins := strings.CutPrefix(image, prefix)
	return begins && (rest == "" || strings.HasSuffix(prefix, "/") || strings.HasSuffix(prefix, ":") || strings.ContainsRune("/:@", rune(rest[0])))
}
