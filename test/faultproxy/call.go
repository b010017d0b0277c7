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

// Call is one call that passed through the proxy.
type Call struct {
	// Service is the signing name of the service, Action the name of the call: "ec2",
	// "RunInstances".
	Service, Action string
	// Body is the body of the request in a form for matching.
	Body string
	// Caller is the access key.
	Caller string
	// Status and Code are those of the response. Status is 0 if there was no response.
	Status int
	Code   string
	// Fault describes the injected fault.
	Fault string

	form  form
	empty bool
}

// form is the format of a service's error responses.
type form int

const (
	xmlS3 form = iota
	xmlEC2
	xmlQuery
	jsonTarget
	cborSmithy
)

// scope matches the credential scope of a signature, with its access key and service.
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
		fields, _ := url.ParseQuery(string(body)) // anything but fields is not matched
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

// s3Parts maps query parameters that select a subresource of a bucket or object to its name.
var s3Parts = map[string]string{
	"versioning": "BucketVersioning", "publicAccessBlock": "PublicAccessBlock", "encryption": "BucketEncryption",
	"lifecycle": "BucketLifecycleConfiguration", "tagging": "Tagging", "policy": "BucketPolicy", "location": "BucketLocation",
	"ownershipControls": "BucketOwnershipControls",
}

// s3Action returns the name of an S3 call, which requests do not contain.
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

// inXML matches the code of an XML error response.
var inXML = regexp.MustCompile(`<Code>([^<]+)</Code>`)

// code returns the error code of a response.
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
