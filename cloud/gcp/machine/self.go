package machine

import (
	"context"
	"path"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
)

// self is the identity of the instance.
type self struct {
	project, zone, name string
	// id is the numeric ID.
	id string
}

// readSelf reads the identity of the instance from the metadata server.
func readSelf(ctx context.Context, m metadata.Server) (self, error) {
	var s self
	for key, into := range map[string]*string{
		"project/project-id": &s.project, "instance/zone": &s.zone, "instance/name": &s.name, "instance/id": &s.id,
	} {
		text, err := m.Read(ctx, key)
		if err != nil {
			return self{}, err
		}
		*into = text
	}
	s.zone = path.Base(s.zone) // "projects/415104041262/zones/us-central1-a"
	return s, nil
}

// region returns the region of the zone: "us-central1".
func (s self) region() string { return s.zone[:max(0, strings.LastIndexByte(s.zone, '-'))] }

// monitored returns the labels of the instance's monitored resource.
// https://cloud.google.com/monitoring/api/resources#tag_gce_instance
func (s self) monitored() map[string]string {
	return map[string]string{"project_id": s.project, "instance_id": s.id, "zone": s.zone}
}

// monitoredType is the monitored resource type of an instance.
const monitoredType = "gce_instance"
