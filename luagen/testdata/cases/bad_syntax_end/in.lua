---@key lock hash
if lock then
  return 1
