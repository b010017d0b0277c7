package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// tlsStatement is the id of our statement among those the user may add.
const tlsStatement = "DetDeployTLSOnly"

// TLSOnly is the statement in a bucket's policy that refuses plain HTTP. Whatever
// else the policy says is the user's.
type TLSOnly struct {
	S3     api.S3
	Bucket string
}

// Look reports whether the policy has our statement, and whether that is whole. A
// bucket that is not there has none.
func (t TLSOnly) Look(ctx context.Context) (found, whole bool, err error) {
	have, err := t.policyText(ctx)
	if err != nil || have == "" {
		return false, false, err
	}
	doc, err := readPolicy(have, t.Bucket)
	if err != nil {
		return false, false, err
	}
	_, ours := splitStatements(doc)
	return len(ours) > 0, len(ours) == 1 && sameStatement(ours[0], tlsOnly(t.Bucket)), nil
}

// Put puts our statement there. It may be repeated.
func (t TLSOnly) Put(ctx context.Context) error {
	have, err := t.policyText(ctx)
	if err != nil {
		return err
	}
	want, err := withTLSOnly(have, t.Bucket)
	if err != nil {
		return err
	}
	_, err = t.S3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: aws.String(t.Bucket), Policy: aws.String(want)})
	return err
}

// policyText is the text of the bucket's policy, empty without one.
func (t TLSOnly) policyText(ctx context.Context) (string, error) {
	out, err := t.S3.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: aws.String(t.Bucket)})
	if err != nil {
		return "", infra.IgnoreMissing(err)
	}
	return aws.ToString(out.Policy), nil
}

// withTLSOnly is policy with our statement in it, and whatever else it says.
func withTLSOnly(policy, bucket string) (string, error) {
	doc, err := readPolicy(policy, bucket)
	if err != nil {
		return "", err
	}
	others, _ := splitStatements(doc)
	doc["Statement"] = append(others, tlsOnly(bucket))
	out, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("write the policy of bucket %s: %w", bucket, err)
	}
	return string(out), nil
}

func readPolicy(policy, bucket string) (map[string]any, error) {
	doc := map[string]any{"Version": "2012-10-17"}
	if policy == "" {
		return doc, nil
	}
	if err := json.Unmarshal([]byte(policy), &doc); err != nil {
		return nil, fmt.Errorf("read the policy of bucket %s: %w", bucket, err)
	}
	return doc, nil
}

// splitStatements tells the user's statements from ours.
func splitStatements(doc map[string]any) (others, ours []any) {
	all, ok := doc["Statement"].([]any)
	if !ok && doc["Statement"] != nil {
		all = []any{doc["Statement"]} // a single statement need not be a list
	}
	for _, s := range all {
		if m, ok := s.(map[string]any); ok && m["Sid"] == tlsStatement {
			ours = append(ours, s)
		} else {
			others = append(others, s)
		}
	}
	return others, ours
}

func tlsOnly(bucket string) any {
	arn := "arn:aws:s3:::" + bucket
	return map[string]any{
		"Sid": tlsStatement, "Effect": "Deny", "Principal": "*", "Action": "s3:*",
		"Resource":  []any{arn, arn + "/*"},
		"Condition": map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}},
	}
}

// sameStatement compares two statements as S3 does, which gives lists back in any
// order, and a list of one as what is in it.
func sameStatement(a, b any) bool { return reflect.DeepEqual(withSets(a), withSets(b)) }

// withSets is a statement whose actions and resources are sorted lists.
func withSets(statement any) any {
	m, ok := statement.(map[string]any)
	if !ok {
		return statement
	}
	out := maps.Clone(m)
	for _, key := range []string{"Action", "Resource"} {
		if v, ok := out[key]; ok {
			out[key] = setOf(v)
		}
	}
	return out
}

func setOf(v any) []string {
	all, ok := v.([]any)
	if !ok {
		all = []any{v}
	}
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = fmt.Sprint(one)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
