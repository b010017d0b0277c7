package fleet

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
)

// nameLimit is the maximum length of an instance's name and of a label value.
const nameLimit = 63

// hashLength is the number of characters of a hash in a name: 60 bits.
const hashLength = 12

// machineName returns the name of the n-th instance of a launch. Names are derived from the launch,
// so that Google rejects a second creation: "det-lab-gpu-abcdefghijkl-0".
func (c Config) machineName(token string, n int) string {
	prefix := c.NamePrefix
	if prefix == "" {
		prefix = "det-" + c.Cluster + "-"
	}
	suffix := "-" + hashOf(c.Cluster, c.Pool, token) + "-" + strconv.Itoa(n)
	pool := notInNames.ReplaceAllString(strings.ToLower(c.Pool), "-")
	pool = pool[:max(0, min(len(pool), nameLimit-len(prefix)-len(suffix)))]
	return strings.TrimRight(prefix+pool, "-") + suffix
}

var (
	notInNames  = regexp.MustCompile(`[^-a-z0-9]`)
	notInLabels = regexp.MustCompile(`[^-_a-z0-9]`)
)

// encodeLabel encodes a text as a label value: unchanged if it is valid, otherwise with invalid
// characters replaced and a hash appended, so that different texts have different values.
func encodeLabel(text string) string {
	plain := toLabel(text)
	if plain == text {
		return text
	}
	hash := "-" + hashOf(text)
	return plain[:min(len(plain), nameLimit-len(hash))] + hash
}

// toLabel replaces the invalid characters of a label value and truncates it.
func toLabel(text string) string {
	plain := notInLabels.ReplaceAllString(strings.ToLower(text), "-")
	return plain[:min(len(plain), nameLimit)]
}

// contentOf returns a hash of the launch, which differs for launches with the same token and
// different content.
func contentOf(l cloud.Launch) string {
	return hashOf(l.Token, l.Offer.Type, l.Offer.Zone, string(l.Offer.Price), fmt.Sprint(l.Count))
}

func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:hashLength])
}

// zonalLink returns the URL of a zonal resource, given by its name or by a URL in any zone.
func (f *Fleet) zonalLink(zone, collection, name string) string {
	return "projects/" + f.clients.Project + "/zones/" + zone + "/" + collection + "/" + path.Base(name)
}

// imageLink returns the URL of an image, given by its path, its name, or "family/" and the name of
// its family.
func (f *Fleet) imageLink(image string) string {
	if strings.Contains(strings.TrimPrefix(image, "family/"), "/") {
		return image
	}
	return "projects/" + f.clients.Project + "/global/images/" + image
}

// RegionOf returns the region of a zone.
func RegionOf(zone string) string {
	return zone[:max(0, strings.LastIndexByte(zone, '-'))]
}
