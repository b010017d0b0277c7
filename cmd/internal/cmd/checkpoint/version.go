package checkpoint

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// checkpointOf returns the ID of the checkpoint of MODEL:VERSION, or of the newest version of MODEL.
func checkpointOf(ctx context.Context, master *client.Client, text string) (string, error) {
	name, version, numbered := strings.Cut(text, ":")
	reply, err := master.ModelVersions(ctx, name)
	if err != nil {
		return "", err
	}
	versions := reply.GetModelVersions()
	switch {
	case len(versions) == 0:
		return "", fmt.Errorf("model %s has no version", name)
	case !numbered:
		return versions[len(versions)-1].GetCheckpoint().GetUuid(), nil
	}
	for _, v := range versions {
		if strconv.Itoa(int(v.GetVersion())) == version {
			return v.GetCheckpoint().GetUuid(), nil
		}
	}
	return "", usage.Errorf("--model %s: model %s has no version %s (have: %s)", text, name, version, numbersOf(versions))
}

// mostNumbers is the number of versions that an error names.
const mostNumbers = 10

// numbersOf returns the numbers of the newest versions.
func numbersOf(versions []*apiv1.ModelVersion) string {
	var out []string
	if first := len(versions) - mostNumbers; first > 0 {
		versions, out = versions[first:], append(out, "…")
	}
	for _, v := range versions {
		out = append(out, strconv.Itoa(int(v.GetVersion())))
	}
	return strings.Join(out, ", ")
}
