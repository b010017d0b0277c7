package aws

import (
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
)

// notThere is something that does not exist and should.
func notThere(op, what string) error {
	return &cloud.Error{Kind: cloud.NotFound, Op: op, Resource: what, Err: errors.New("it does not exist")}
}

// unfit is something that exists and cannot be used, and what to do.
func unfit(op, what, why, fix string) error {
	return &cloud.Error{Kind: cloud.Invalid, Op: op, Resource: what, Fix: fix, Err: errors.New(why)}
}
