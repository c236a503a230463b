--- The owner of a lock that was revoked.
---
---@library

-- nobody returns an owner that nobody is. It has the form of owners: otherwise the hash would be no lock.
local function nobody()
  return '00000000-0000-0000-0000-000000000000:0'
end
