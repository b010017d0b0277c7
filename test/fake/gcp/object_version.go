package gcptest

import (
	"strconv"
	"time"
)

// archive keeps the previous version of an overwritten or deleted object if its bucket has
// versioning enabled. https://cloud.google.com/storage/docs/object-versioning
func (c *call) archive(b *blob) {
	bucket, found := c.stores.buckets.get(b.object.Bucket)
	if !found || bucket.Versioning == nil || !bucket.Versioning.Enabled {
		return
	}
	old := *b
	old.object.TimeDeleted = c.now().Format(time.RFC3339Nano)
	c.stores.versions.add(versionKey(&old), &old)
}

func versionKey(b *blob) string {
	return b.object.Bucket + "/" + b.object.Name + "#" + strconv.FormatInt(b.object.Generation, 10)
}

// removeObject deletes the live version of an object or, permanently, the version of the request.
func (c *call) removeObject(key string, b *blob) {
	if archived, found := c.stores.versions.get(versionKey(b)); found && archived == b {
		c.stores.versions.remove(versionKey(b))
		return
	}
	if !c.query.Has("generation") {
		c.archive(b)
	}
	c.stores.objects.remove(key)
}
