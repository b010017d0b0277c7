package infra

import (
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
)

var errMissing = errors.New("does not exist")

// Missing is an answer without the object that was asked for.
func Missing(op, identity string) error {
	return &cloud.Error{Kind: cloud.NotFound, Op: op, Resource: identity, Err: errMissing}
}

// Foreign refuses to touch something that has a name of ours and is not ours.
func Foreign(op, subject, why string) error {
	return &cloud.Error{
		Kind: cloud.Conflict, Op: op, Resource: subject,
		Fix: "choose another --cluster-id, or remove it yourself",
		Err: fmt.Errorf("does not belong to the cluster: %s", why),
	}
}

// IgnoreMissing takes "does not exist" for what a removal wanted.
func IgnoreMissing(err error) error {
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}
