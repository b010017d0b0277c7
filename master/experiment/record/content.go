package record

import (
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// CheckReader refuses a user who may not read the content of an experiment: the files that came with it, and its
// checkpoints with their metadata and the names of their files. The content is named in the plural: "the files".
func (x Experiment) CheckReader(by *apiv1.User, content string) error {
	if by.GetAdmin() || by.GetId() == x.UserID {
		return nil
	}
	return status.New(status.PermissionDenied, "%s of experiment %d are for %s, who owns it, and administrators", content, x.ID, x.Username)
}
