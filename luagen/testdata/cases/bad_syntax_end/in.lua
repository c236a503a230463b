---@key lock any
if lock then
  return 1
