package gcptest

import (
	"regexp"
	"strconv"
	"time"

	"google.golang.org/api/iam/v1"
)

// account is a service account. Its path is "projects/p/serviceAccounts/email".
type account struct {
	iam.ServiceAccount
	createdAt time.Time
}

func accountActs() map[string]act {
	return map[string]act{
		"iam.projects.serviceAccounts.create":             createAccount,
		"iam.projects.serviceAccounts.get":                getAccount,
		"iam.projects.serviceAccounts.list":               listAccounts,
		"iam.projects.serviceAccounts.patch":              patchAccount,
		"iam.projects.serviceAccounts.delete":             deleteAccount,
		"iam.projects.serviceAccounts.getIamPolicy":       getAccountPolicy,
		"iam.projects.serviceAccounts.setIamPolicy":       setAccountPolicy,
		"iam.projects.serviceAccounts.testIamPermissions": testAccountPermissions,
	}
}

// accountID matches valid service account IDs.
// https://cloud.google.com/iam/docs/service-accounts-create
var accountID = regexp.MustCompile(`^[a-z](?:[-a-z0-9]{4,28}[a-z0-9])$`)

// createAccount: https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/create
func createAccount(c *call) (any, error) {
	body := decode[iam.CreateServiceAccountRequest](c)
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	if !accountID.MatchString(body.AccountId) {
		return nil, invalid("The account ID %q does not have a length between 6 and 30.", body.AccountId)
	}
	a := c.newAccount(p, body.AccountId+"@"+p.id+".iam.gserviceaccount.com")
	if body.ServiceAccount != nil {
		a.DisplayName, a.Description = body.ServiceAccount.DisplayName, body.ServiceAccount.Description
	}
	if len(a.Description) > 256 {
		return nil, invalid("The description is longer than 256 bytes.")
	}
	if _, found := c.access.accounts.get(a.Name); found {
		return nil, refuse(409, "alreadyExists", "Service account %s already exists within project projects/%s.", body.AccountId, p.id)
	}
	a.createdAt = c.now()
	c.access.accounts.add(a.Name, a)
	return &a.ServiceAccount, nil
}

func (w *World) newAccount(p *project, email string) *account {
	id := strconv.FormatUint(w.nextID(), 10)
	return &account{ServiceAccount: iam.ServiceAccount{
		Name: "projects/" + p.id + "/serviceAccounts/" + email, Email: email, ProjectId: p.id,
		UniqueId: id, Oauth2ClientId: id, Etag: etagOf(1),
	}}
}

// addDefaultAccount adds the Compute Engine default service account of a project, which is an
// editor by default.
// https://cloud.google.com/compute/docs/access/service-accounts#default_service_account
func (w *World) addDefaultAccount(p *project) {
	a := w.newAccount(p, defaultAccount(p))
	a.DisplayName = "Compute Engine default service account"
	w.access.accounts.give(a.Name, a)
	now := w.access.latest("projects/" + p.id)
	now.Bindings = append(now.Bindings, &binding{Role: "roles/editor", Members: []string{"serviceAccount:" + a.Email}})
}

func defaultAccount(p *project) string {
	return strconv.FormatUint(p.number, 10) + "-compute@developer.gserviceaccount.com"
}

// GiveAccount adds a service account that existed before the test, and returns its email.
func (w *World) GiveAccount(projectID, id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.projects[projectID]
	a := w.newAccount(p, id+"@"+p.id+".iam.gserviceaccount.com")
	w.access.accounts.give(a.Name, a)
	return a.Email
}

// accountOf returns a service account by its email.
func (w *World) accountOf(email string) (*account, bool) {
	for _, a := range w.access.accounts.all() {
		if a.Email == email {
			return a, true
		}
	}
	return nil, false
}

// accountKnown reports whether other services know an account already.
func (w *World) accountKnown(email string) bool {
	a, found := w.accountOf(email)
	return found && !w.now().Before(a.createdAt.Add(w.opt.NewAccount))
}

// findAccount returns the account of a request by email or unique ID. The project may be "-".
// https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/get
func (c *call) findAccount() (*account, error) {
	id := c.params["serviceAccountsId"]
	for _, a := range c.access.accounts.all() {
		if a.Email == id || a.UniqueId == id {
			return a, nil
		}
	}
	return nil, refuse(404, "notFound", "Unknown service account %s", id)
}

// findKnown is like findAccount for the calls to which a new account is still unknown. They deny access to
// it. https://cloud.google.com/iam/docs/service-accounts-create#creating
func (c *call) findKnown() (*account, error) {
	a, err := c.findAccount()
	if err == nil && !c.accountKnown(a.Email) {
		return nil, refuse(403, "forbidden", "Permission iam.serviceAccounts.%s is required to perform this operation on service account %s.", c.verbOf(), a.Name)
	}
	return a, err
}

func getAccount(c *call) (any, error) {
	a, err := c.findKnown()
	if err != nil {
		return nil, err
	}
	return &a.ServiceAccount, nil
}

func listAccounts(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	var items []any
	for _, r := range c.access.accounts.listed("projects/"+p.id+"/", c.behind()) {
		items = append(items, &r.v.ServiceAccount)
	}
	return c.namedPage("accounts", items)
}

// patchAccount: https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/patch
func patchAccount(c *call) (any, error) {
	a, err := c.findAccount()
	if err != nil {
		return nil, err
	}
	body := decode[iam.PatchServiceAccountRequest](c)
	if body.ServiceAccount == nil {
		return nil, invalid("The service account is missing.")
	}
	next := maskedCopy(&a.ServiceAccount, body.ServiceAccount, body.UpdateMask)
	next.Name, next.Email, next.Etag = a.Name, a.Email, nextEtag(a.Etag)
	a.ServiceAccount = *next
	return &a.ServiceAccount, nil
}

// deleteAccount deletes an account. Policies keep it as a deleted member: a new account of the same
// email does not get its roles.
// https://cloud.google.com/iam/docs/service-accounts-delete-undelete#deleting
func deleteAccount(c *call) (any, error) {
	a, err := c.findAccount()
	if err != nil {
		return nil, err
	}
	c.access.accounts.remove(a.Name)
	c.access.forget(a.Name)
	c.access.markDeleted("serviceAccount:"+a.Email, a.UniqueId)
	return map[string]any{}, nil
}

func (a *access) markDeleted(member, uid string) {
	for _, h := range a.policies {
		for _, v := range h.versions {
			for _, b := range v.policy.Bindings {
				for i, m := range b.Members {
					if m == member {
						b.Members[i] = "deleted:" + m + "?uid=" + uid
					}
				}
			}
		}
	}
}

func getAccountPolicy(c *call) (any, error) {
	a, err := c.findKnown()
	if err != nil {
		return nil, err
	}
	return c.readPolicy(a.Name)
}

func setAccountPolicy(c *call) (any, error) {
	a, err := c.findKnown()
	if err != nil {
		return nil, err
	}
	return c.writePolicy(a.Name)
}

func testAccountPermissions(c *call) (any, error) {
	a, err := c.findAccount()
	if err != nil {
		return nil, err
	}
	return c.testPermissions(resourceName{path: a.Name, kind: "iam.googleapis.com/ServiceAccount"})
}
