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

// nameLimit is how long a machine's name may be, and the value of a label.
const nameLimit = 63

// hashLength is how many characters of a hash are in a name: 60 bits.
const hashLength = 12

// machineName is the name of the n-th machine of a launch. The same launch has the same
// names, so that Google refuses to make a machine twice: "det-lab-gpu-abcdefghijkl-0".
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

// encodeLabel is a text as the value of a label: as it is where Google takes it, else with
// other characters replaced and a hash behind, so that no two are the same.
func encodeLabel(text string) string {
	plain := toLabel(text)
	if plain == text {
		return text
	}
	hash := "-" + hashOf(text)
	return plain[:min(len(plain), nameLimit-len(hash))] + hash
}

// toLabel replaces what the value of a label cannot have, and cuts off what is too long.
func toLabel(text string) string {
	plain := notInLabels.ReplaceAllString(strings.ToLower(text), "-")
	return plain[:min(len(plain), nameLimit)]
}

// contentOf tells launches of one token apart whose content differs.
func contentOf(l cloud.Launch) string {
	return hashOf(l.Token, l.Offer.Type, l.Offer.Zone, string(l.Offer.Price), fmt.Sprint(l.Count))
}

func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:hashLength])
}

// zonalLink is something that each zone has its own of, by its name or by a link to that
// of any zone.
func (f *Fleet) zonalLink(zone, collection, name string) string {
	return "projects/" + f.clients.Project + "/zones/" + zone + "/" + collection + "/" + path.Base(name)
}

// imageLink is an image by its path, its name, or "family/" and that of its family.
func (f *Fleet) imageLink(image string) string {
	if strings.Contains(strings.TrimPrefix(image, "family/"), "/") {
		return image
	}
	return "projects/" + f.clients.Project + "/global/images/" + image
}

// RegionOf is the region that a zone is in.
func RegionOf(zone string) string {
	return zone[:max(0, strings.LastIndexByte(zone, '-'))]
}
