import { Refusal } from '#kernel/refusal.js';

/** The same for a dataset of another workspace: the two are never told apart. */
export function unknownDataset(): Refusal {
  return new Refusal('not_found', 'unknown_dataset', 'there is no such dataset', {
    path: 'dataset_id',
    issues: [{ path: 'dataset_id', problem: 'is no dataset of this workspace' }],
    fix: 'get_intelligence lists the datasets',
  });
}

export function unknownRun(path: 'run_id' | 'compare_to'): Refusal {
  return new Refusal('not_found', 'unknown_run', 'there is no such run', {
    path,
    issues: [{ path, problem: 'is no run of this workspace, or not of this dataset' }],
    fix: 'get_intelligence with a dataset_id lists its runs',
  });
}

/** O-44: what was inspected is not this dataset. */
export function versionMismatch(present: string): Refusal {
  return new Refusal(
    'conflict',
    'dataset_version_mismatch',
    'the dataset is not the one that was inspected',
    {
      path: 'dataset_hash',
      issues: [{ path: 'dataset_hash', problem: `the dataset has the hash ${present}` }],
      fix: 'read the dataset with get_intelligence and name the hash that it shows',
    },
  );
}

export function datasetRetired(): Refusal {
  return new Refusal('conflict', 'dataset_retired', 'the dataset is retired', {
    path: 'dataset_id',
    issues: [{ path: 'dataset_id', problem: 'is retired: it can be read, and nothing else' }],
    fix: 'prepare a new dataset with the corrected cases and another name, and have it approved',
  });
}

export function notApproved(): Refusal {
  return new Refusal('conflict', 'dataset_not_approved', 'the dataset is a draft', {
    path: 'dataset_id',
    issues: [{ path: 'dataset_id', problem: 'is not approved yet' }],
    fix: 'a governor reads it with get_intelligence and approves it with review_eval_dataset',
  });
}

export function fourEyesRequired(): Refusal {
  return new Refusal('forbidden', 'four_eyes_required', 'the dataset was prepared by you', {
    path: 'dataset_id',
    issues: [
      {
        path: 'dataset_id',
        problem: 'this organisation wants another person than who prepared it',
      },
    ],
    fix: 'ask another governor of the workspace',
  });
}
