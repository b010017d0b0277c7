package gcptest

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/storage/v1"
)

// blob is an object with its content. Its path is "bucket/name".
type blob struct {
	object  storage.Object
	content []byte
	written time.Time
}

func bucketOf(key string) string {
	bucket, _, _ := strings.Cut(key, "/")
	return bucket
}

func objectActs() map[string]act {
	return map[string]act{
		"storage.objects.insert":  insertObject,
		"storage.objects.get":     getObject,
		"storage.objects.list":    listObjects,
		"storage.objects.patch":   patchObject,
		"storage.objects.update":  patchObject,
		"storage.objects.delete":  deleteObject,
		"storage.objects.rewrite": rewriteObject,
	}
}

// insertObject: https://cloud.google.com/storage/docs/json_api/v1/objects/insert
func insertObject(c *call) (any, error) {
	if c.upload == nil {
		return nil, invalid("Upload requests must have media.")
	}
	if c.upload.begins || c.upload.session != "" {
		return c.resume()
	}
	return c.writeObject(decode[storage.Object](c), c.upload.data)
}

// writeObject creates a generation of an object under the request's preconditions.
// https://cloud.google.com/storage/docs/objects#naming
func (c *call) writeObject(o *storage.Object, content []byte) (any, error) {
	b, err := c.findBucket()
	if err != nil {
		return nil, err
	}
	if name := c.query.Get("name"); name != "" {
		o.Name = name
	}
	if o.Name == "" || len(o.Name) > 1024 {
		return nil, refuse(400, "required", "Required")
	}
	key := b.Name + "/" + o.Name
	old, _ := c.stores.objects.get(key)
	if err := c.checkGeneration(old); err != nil {
		return nil, err
	}
	if err := c.objectTooSoon(old); err != nil {
		return nil, err
	}
	next := &blob{object: *o, content: slices.Clone(content), written: c.now()}
	c.completeObject(next, b.Name)
	if old != nil {
		c.archive(old)
		*old = *next
		return &old.object, nil
	}
	c.stores.objects.add(key, next)
	return &next.object, nil
}

// objectTooSoon returns an error for a second write within the interval.
// https://cloud.google.com/storage/quotas#objects: one write per second to an object.
func (c *call) objectTooSoon(old *blob) error {
	if old != nil && c.now().Before(old.written.Add(c.opt.ObjectInterval)) {
		return refuse(429, "rateLimitExceeded", "The object %s exceeded the rate limit for object mutation operations (create, update, and delete). Please reduce your request rate.", old.object.Name)
	}
	return nil
}

func (c *call) completeObject(b *blob, bucket string) {
	o := &b.object
	c.serial++
	sum := md5.Sum(b.content)
	o.Kind, o.Bucket = "storage#object", bucket
	o.Generation, o.Metageneration = b.written.UnixMicro()*1000+int64(c.serial%1000), 1
	o.Id = bucket + "/" + o.Name + "/" + strconv.FormatInt(o.Generation, 10)
	o.SelfLink = "https://www.googleapis.com/storage/v1/b/" + bucket + "/o/" + o.Name
	o.Size, o.Md5Hash = uint64(len(b.content)), base64.StdEncoding.EncodeToString(sum[:])
	o.Crc32c = base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.Checksum(b.content, crc32.MakeTable(crc32.Castagnoli))))
	o.Etag, o.StorageClass = etagOf(o.Generation), "STANDARD"
	o.TimeCreated, o.Updated = b.written.Format(time.RFC3339Nano), b.written.Format(time.RFC3339Nano)
	if o.ContentType == "" && c.upload != nil {
		o.ContentType = c.upload.contentType
	}
}

// checkGeneration checks an object, or its absence, against the preconditions.
// https://cloud.google.com/storage/docs/request-preconditions
func (c *call) checkGeneration(b *blob) error {
	var generation, meta int64
	if b != nil {
		generation, meta = b.object.Generation, b.object.Metageneration
	}
	conditions := []struct {
		name string
		have int64
		same bool
	}{
		{"ifGenerationMatch", generation, true},
		{"ifGenerationNotMatch", generation, false},
		{"ifMetagenerationMatch", meta, true},
		{"ifMetagenerationNotMatch", meta, false},
	}
	for _, p := range conditions {
		want := c.query.Get(p.name)
		if want == "" || (want == strconv.FormatInt(p.have, 10)) == p.same {
			continue
		}
		if !p.same && !c.changes() {
			return refuse(http.StatusNotModified, "notModified", "Not Modified")
		}
		return conditionNotMet("At least one of the pre-conditions you specified did not hold.")
	}
	return nil
}

// findObject returns the live object of a request, or the requested version.
// https://cloud.google.com/storage/docs/json_api/v1/status-codes#404_Not_Found
func (c *call) findObject() (string, *blob, error) {
	if _, err := c.findBucket(); err != nil {
		return "", nil, err
	}
	key := c.params["bucket"] + "/" + c.params["object"]
	b, found := c.stores.objects.get(key)
	if want := c.query.Get("generation"); want != "" && (!found || want != strconv.FormatInt(b.object.Generation, 10)) {
		b, found = c.stores.versions.get(key + "#" + want)
	}
	if !found {
		return "", nil, refuse(404, "notFound", "No such object: %s", key)
	}
	return key, b, c.checkGeneration(b)
}

func patchObject(c *call) (any, error) {
	_, b, err := c.findObject()
	if err != nil {
		return nil, err
	}
	next, err := patch(c, &b.object)
	if err != nil {
		return nil, err
	}
	next.Metageneration++
	next.Updated = c.now().Format(time.RFC3339Nano)
	b.object = *next
	return &b.object, nil
}

func deleteObject(c *call) (any, error) {
	key, b, err := c.findObject()
	if err != nil {
		return nil, err
	}
	if err := c.objectTooSoon(b); err != nil {
		return nil, err
	}
	c.removeObject(key, b)
	return nil, nil
}

// rewriteObject copies an object in one step, as Google does within a location.
// https://cloud.google.com/storage/docs/json_api/v1/objects/rewrite
func rewriteObject(c *call) (any, error) {
	from, found := c.stores.objects.get(c.params["sourceBucket"] + "/" + c.params["sourceObject"])
	if !found {
		return nil, refuse(404, "notFound", "No such object: %s/%s", c.params["sourceBucket"], c.params["sourceObject"])
	}
	o := decode[storage.Object](c)
	o.Name, o.ContentType = c.params["destinationObject"], from.object.ContentType
	c.params["bucket"] = c.params["destinationBucket"]
	out, err := c.writeObject(o, from.content)
	if err != nil {
		return nil, err
	}
	size := strconv.Itoa(len(from.content))
	return map[string]any{"kind": "storage#rewriteResponse", "done": true, "objectSize": size, "totalBytesRewritten": size, "resource": out}, nil
}
