package gcptest

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"google.golang.org/api/storage/v1"
)

// stores is Cloud Storage: the buckets and objects of all projects.
type stores struct {
	buckets   table[storage.Bucket]
	objects   table[blob]
	versions  table[blob] // noncurrent versions
	sessions  map[string]*session
	changedAt map[uint64]time.Time // last creation or deletion of a bucket, by project
}

func newStores(w *World) stores {
	return stores{
		buckets: newTable[storage.Bucket](w), objects: newTable[blob](w), versions: newTable[blob](w),
		sessions: make(map[string]*session), changedAt: make(map[uint64]time.Time),
	}
}

func bucketActs() map[string]act {
	return map[string]act{
		"storage.buckets.insert":             insertBucket,
		"storage.buckets.get":                getBucket,
		"storage.buckets.list":               listBuckets,
		"storage.buckets.patch":              patchBucket,
		"storage.buckets.update":             patchBucket,
		"storage.buckets.delete":             deleteBucket,
		"storage.buckets.getIamPolicy":       getBucketPolicy,
		"storage.buckets.setIamPolicy":       setBucketPolicy,
		"storage.buckets.testIamPermissions": testBucketPermissions,
	}
}

// bucketName matches valid bucket names. https://cloud.google.com/storage/docs/buckets#naming
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$`)

// forbiddenName matches names that are reserved for Google.
var forbiddenName = regexp.MustCompile(`^goog|g[o0][o0]g[l1]e`)

// insertBucket: https://cloud.google.com/storage/docs/json_api/v1/buckets/insert
func insertBucket(c *call) (any, error) {
	b := decode[storage.Bucket](c)
	p, err := c.project(c.query.Get("project"))
	if err != nil {
		return nil, err
	}
	if !bucketName.MatchString(b.Name) || forbiddenName.MatchString(b.Name) {
		return nil, invalid("Invalid bucket name: '%s'", b.Name)
	}
	if err := c.bucketTooSoon(p.number); err != nil {
		return nil, err
	}
	if old, found := c.stores.buckets.get(b.Name); found {
		return nil, bucketTaken(old, p)
	}
	c.completeBucket(b, p)
	c.stores.buckets.add(b.Name, b)
	return b, nil
}

// bucketTaken returns the error for a name that is in use. Bucket names are global.
// https://cloud.google.com/storage/docs/json_api/v1/status-codes#409_Conflict
func bucketTaken(old *storage.Bucket, p *project) error {
	if old.ProjectNumber == p.number {
		return refuse(409, "conflict", "Your previous request to create the named bucket succeeded and you already own it.")
	}
	return refuse(409, "conflict", "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.")
}

// bucketTooSoon returns an error if a bucket was created or deleted within the interval.
// https://cloud.google.com/storage/quotas#buckets
func (c *call) bucketTooSoon(project uint64) error {
	now := c.now()
	if last, found := c.stores.changedAt[project]; found && now.Before(last.Add(c.opt.BucketInterval)) {
		return refuse(429, "rateLimitExceeded", "The project exceeded the rate limit for creating and deleting buckets.")
	}
	c.stores.changedAt[project] = now
	return nil
}

func (c *call) completeBucket(b *storage.Bucket, p *project) {
	now := c.now().Format(time.RFC3339Nano)
	b.Kind, b.Id, b.SelfLink = "storage#bucket", b.Name, "https://www.googleapis.com/storage/v1/b/"+b.Name
	b.ProjectNumber, b.Metageneration, b.Etag = p.number, 1, etagOf(1)
	b.TimeCreated, b.Updated = now, now
	if b.Location == "" {
		b.Location = "US"
	}
	b.LocationType = "region"
	if b.StorageClass == "" {
		b.StorageClass = "STANDARD"
	}
	if b.IamConfiguration == nil {
		b.IamConfiguration = &storage.BucketIamConfiguration{}
	}
	if b.IamConfiguration.PublicAccessPrevention == "" {
		b.IamConfiguration.PublicAccessPrevention = "inherited"
	}
	// https://cloud.google.com/storage/docs/soft-delete: seven days by default.
	if b.SoftDeletePolicy == nil {
		b.SoftDeletePolicy = &storage.BucketSoftDeletePolicy{RetentionDurationSeconds: 7 * 24 * 3600}
	}
}

// findBucket returns a bucket by name.
// https://cloud.google.com/storage/docs/json_api/v1/status-codes#404_Not_Found
func (c *call) findBucket() (*storage.Bucket, error) {
	b, found := c.stores.buckets.get(c.params["bucket"])
	if !found {
		return nil, refuse(404, "notFound", "The specified bucket does not exist.")
	}
	return b, nil
}

func getBucket(c *call) (any, error) {
	b, err := c.findBucket()
	if err != nil {
		return nil, err
	}
	return b, c.checkMetageneration(b.Metageneration)
}

func listBuckets(c *call) (any, error) {
	p, err := c.project(c.query.Get("project"))
	if err != nil {
		return nil, err
	}
	var items []any
	for _, r := range c.stores.buckets.listed(c.query.Get("prefix"), c.behind()) {
		if r.v.ProjectNumber == p.number {
			items = append(items, r.v)
		}
	}
	return c.page("storage#buckets", items)
}

func patchBucket(c *call) (any, error) {
	b, err := c.findBucket()
	if err != nil {
		return nil, err
	}
	if err := c.checkMetageneration(b.Metageneration); err != nil {
		return nil, err
	}
	next, err := patch(c, b)
	if err != nil {
		return nil, err
	}
	next.Metageneration++
	next.Etag, next.Updated = etagOf(next.Metageneration), c.now().Format(time.RFC3339Nano)
	*b = *next
	return b, nil
}

// deleteBucket: https://cloud.google.com/storage/docs/json_api/v1/status-codes#409_Conflict
func deleteBucket(c *call) (any, error) {
	b, err := c.findBucket()
	if err != nil {
		return nil, err
	}
	if err := c.checkMetageneration(b.Metageneration); err != nil {
		return nil, err
	}
	if err := c.bucketTooSoon(b.ProjectNumber); err != nil {
		return nil, err
	}
	for _, t := range []*table[blob]{&c.stores.objects, &c.stores.versions} {
		for key := range t.all() {
			if bucketOf(key) == b.Name {
				return nil, refuse(409, "conflict", "The bucket you tried to delete is not empty.")
			}
		}
	}
	c.stores.buckets.remove(b.Name)
	c.access.forget("buckets/" + b.Name)
	return nil, nil
}

// checkMetageneration checks a bucket against the request's preconditions.
// https://cloud.google.com/storage/docs/request-preconditions
func (c *call) checkMetageneration(have int64) error {
	if want := c.query.Get("ifMetagenerationMatch"); want != "" && want != strconv.FormatInt(have, 10) {
		return conditionNotMet("At least one of the pre-conditions you specified did not hold.")
	}
	return nil
}

// Buckets returns the sorted bucket names of all projects.
func (w *World) Buckets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.stores.buckets.live))
}
