package infra

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
)

var errNone = errors.New("does not exist")

// none is an answer without the object that was asked for.
func none(op, id string) error {
	return &cloud.Error{Kind: cloud.NotFound, Op: op, Resource: id, Err: errNone}
}

// foreign refuses to touch something that has a name of ours and is not ours.
func foreign(op, subject, why string) error {
	return &cloud.Error{
		Kind: cloud.Conflict, Op: op, Resource: subject,
		Fix: "choose another --cluster-id, or remove it yourself",
		Err: fmt.Errorf("does not belong to the cluster: %s", why),
	}
}

// unsuccessful is what a call that answers item by item refused.
func (*Cluster) unsuccessful(op string, items []types.UnsuccessfulItem) error {
	for _, i := range items {
		if i.Error != nil {
			return api.Refusal(op, aws.ToString(i.ResourceId), aws.ToString(i.Error.Code), aws.ToString(i.Error.Message))
		}
	}
	return nil
}
