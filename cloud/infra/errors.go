package infra

import (
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
)

var errMissing = errors.New("does not exist")

// Missing returns a NotFound error for a response without the requested object.
func Missing(op, identity string) error {
	return &cloud.Error{Kind: cloud.NotFound, Op: op, Resource: identity, Err: errMissing}
}

// Foreign returns a Conflict error for an object that has a name of the cluster but does not belong
// to it.
func Foreign(op, subject, why string) error {
	return &cloud.Error{
		Kind: cloud.Conflict, Op: op, Resource: subject,
		Fix: "choose another --cluster-id, or delete it yourself",
		Err: fmt.Errorf("does not belong to the cluster: %s", why),
	}
}

// IgnoreMissing returns nil for a NotFound error, because a deletion is then already done.
func IgnoreMissing(err error) error {
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}
