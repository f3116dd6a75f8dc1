package mcpserver

import (
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/runnerhub/runnerhub/mcp"
)

// linkTo is a result's pointer to a resource, for clients of the revision that has such content, and later ones.
func linkTo(r mcp.Resource) mcpgo.ResourceLink {
	link := mcpgo.NewResourceLink(r.URI, r.Name, r.Description, r.MediaType)
	link.Title, link.Size = r.Title, r.Size
	return link
}
