package record

import (
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// CheckReader returns PermissionDenied unless the user owns the experiment or is an administrator.
// It protects the experiment's files and its checkpoints with their metadata and file names. The
// error names the content in the plural, as in "the files".
func (x Experiment) CheckReader(by *apiv1.User, content string) error {
	if by.GetAdmin() || by.GetId() == x.UserID {
		return nil
	}
	return status.New(status.PermissionDenied, "cannot read %s of experiment %d: only its owner %s and administrators may", content, x.ID, x.Username)
}
