package faultproxy

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Call is one call that came by.
type Call struct {
	// Service is the name it was signed for, Action what it asks: "ec2",
	// "RunInstances".
	Service, Action string
	// Body is what was sent, in a form to be matched.
	Body string
	// Caller is the access key.
	Caller string
	// Status and Code are the answer's; Status is 0 when there was none.
	Status int
	Code   string
	// Fault names what was done to it.
	Fault string

	form  form
	empty bool
}

// form is how a service wants to be refused.
type form int

const (
	xmlS3 form = iota
	xmlEC2
	xmlQuery
	jsonTarget
	cborSmithy
)

// scope is the part of a signature that names its key and service.
var scope = regexp.MustCompile(`Credential=([^/]+)/\d{8}/[^/]*/([^/]+)/aws4_request`)

func read(r *http.Request, body []byte) Call {
	c := Call{Body: string(body), empty: r.Method == http.MethodHead}
	signature := r.Header.Get("Authorization")
	if signature == "" {
		signature = "Credential=" + r.URL.Query().Get("X-Amz-Credential")
	}
	if m := scope.FindStringSubmatch(signature); m != nil {
		c.Caller, c.Service = m[1], m[2]
	}
	switch {
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		c.form, c.Action = cborSmithy, path.Base(r.URL.Path)
	case r.Header.Get("X-Amz-Target") != "":
		_, c.Action, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		c.form = jsonTarget
	case c.Service != "s3" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		c.form = xmlQuery
		if c.Service == "ec2" {
			c.form = xmlEC2
		}
		fields, _ := url.ParseQuery(string(body)) // what is no field is not matched
		c.Action, c.Body = fields.Get("Action"), lines(fields)
	default:
		c.Action = s3Action(r)
	}
	return c
}

func lines(fields url.Values) string {
	var out []string
	for name, values := range fields {
		for _, v := range values {
			if strings.HasSuffix(name, "UserData") {
				if text, err := base64.StdEncoding.DecodeString(v); err == nil {
					v = string(text)
				}
			}
			out = append(out, name+"="+v)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// s3Parts is what a query asks of a bucket or an object instead of itself.
var s3Parts = map[string]string{
	"versioning": "BucketVersioning", "publicAccessBlock": "PublicAccessBlock", "encryption": "BucketEncryption",
	"lifecycle": "BucketLifecycleConfiguration", "tagging": "Tagging", "policy": "BucketPolicy", "location": "BucketLocation",
	"ownershipControls": "BucketOwnershipControls",
}

// s3Action names a call of S3, which has no field for its name.
func s3Action(r *http.Request) string {
	_, object, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	verb := map[string]string{http.MethodGet: "Get", http.MethodPut: "Put", http.MethodDelete: "Delete", http.MethodHead: "Head"}[r.Method]
	for part, name := range s3Parts {
		if query.Has(part) {
			return verb + name
		}
	}
	bucket := strings.Trim(r.URL.Path, "/") != ""
	switch {
	case query.Has("versions"):
		return "ListObjectVersions"
	case query.Has("delete"):
		return "DeleteObjects"
	case query.Has("uploads"):
		return "CreateMultipartUpload"
	case query.Has("uploadId") && r.Method == http.MethodPut:
		return "UploadPart"
	case query.Has("uploadId") && r.Method == http.MethodPost:
		return "CompleteMultipartUpload"
	case object != "":
		return verb + "Object"
	case !bucket:
		return "ListBuckets"
	case r.Method == http.MethodGet:
		return "ListObjectsV2"
	case r.Method == http.MethodPut:
		return "CreateBucket"
	}
	return verb + "Bucket"
}

// inXML is the code in a refusal.
var inXML = regexp.MustCompile(`<Code>([^<]+)</Code>`)

// code is that of the cloud's own refusal.
func (r reply) code() string {
	if r.status < http.StatusMultipleChoices {
		return ""
	}
	if m := inXML.FindSubmatch(r.body); m != nil {
		return string(m[1])
	}
	var told struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal(r.body, &told) == nil && told.Type != "" {
		return told.Type[strings.LastIndex(told.Type, "#")+1:]
	}
	return r.header.Get("X-Amzn-Errortype")
}
