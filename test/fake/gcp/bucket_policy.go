package gcptest

import "encoding/json"

// getBucketPolicy returns the policy with the additional fields of Cloud Storage.
// https://cloud.google.com/storage/docs/json_api/v1/buckets/getIamPolicy
func getBucketPolicy(c *call) (any, error) {
	b, err := c.findBucket()
	if err != nil {
		return nil, err
	}
	return c.bucketPolicy(c.readPolicy("buckets/" + b.Name))
}

func setBucketPolicy(c *call) (any, error) {
	b, err := c.findBucket()
	if err != nil {
		return nil, err
	}
	p := &policy{}
	if err := json.Unmarshal(c.body, p); err != nil {
		return nil, invalid("%v", err)
	}
	// https://cloud.google.com/storage/docs/access-control/using-iam-permissions: Cloud Storage
	// reports a stale etag as a failed precondition.
	if p.Etag != "" && p.Etag != c.access.latest("buckets/"+b.Name).Etag {
		return nil, conditionNotMet("At least one of the pre-conditions you specified did not hold.")
	}
	return c.bucketPolicy(c.replacePolicy("buckets/"+b.Name, p))
}

func (c *call) bucketPolicy(v any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	out := asMap(v)
	out["kind"], out["resourceId"] = "storage#policy", "projects/_/buckets/"+c.params["bucket"]
	return out, nil
}

func testBucketPermissions(c *call) (any, error) {
	b, err := c.findBucket()
	if err != nil {
		return nil, err
	}
	out, err := c.testPermissions(bucketResource(b.Name))
	if err != nil {
		return nil, err
	}
	answer := asMap(out)
	answer["kind"] = "storage#testIamPermissionsResponse"
	return answer, nil
}

func bucketResource(name string) resourceName {
	return resourceName{path: "buckets/" + name, name: "projects/_/buckets/" + name, kind: "storage.googleapis.com/Bucket"}
}

func objectResource(bucket, object string) resourceName {
	return resourceName{path: "buckets/" + bucket, name: "projects/_/buckets/" + bucket + "/objects/" + object, kind: "storage.googleapis.com/Object"}
}
